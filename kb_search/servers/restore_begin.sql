-- An empty database for the backup, beside the one in use.
DROP DATABASE IF EXISTS kb_search_restoring WITH (FORCE);
CREATE DATABASE kb_search_restoring TEMPLATE template0;
