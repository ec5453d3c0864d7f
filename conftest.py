"""What the tests of the package and those of the recipes share."""

pytest_plugins = ["tests.kit.fixtures", "tests.kit.browser", "tests.time_limit"]
