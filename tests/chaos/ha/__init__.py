"""The same storm over a highly available Postgres: Patroni and etcd on three machines that are network namespaces."""
