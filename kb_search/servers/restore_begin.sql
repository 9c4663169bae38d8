-- An empty database for the backup, beside the one in use.
DROP DATABASE IF EXISTS kb_search_restoring WITH (FORCE);
DROP DATABASE IF EXISTS kb_search_replaced WITH (FORCE); -- of a restore that was killed at its end
CREATE DATABASE kb_search_restoring TEMPLATE template0;
