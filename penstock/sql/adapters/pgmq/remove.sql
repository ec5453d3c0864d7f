drop schema pgmq cascade;
