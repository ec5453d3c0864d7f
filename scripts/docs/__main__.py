"""python -m scripts.docs build | serve [port] | show [port]"""

import sys

from scripts.docs import site

match sys.argv[1:]:
    case ["build"]:
        print(f"{site.build()}/index.html")
    case ["serve" | "show" as how, *port]:
        getattr(site, how)(int(port[0]) if port else 8001)
    case _:
        sys.exit(__doc__)
