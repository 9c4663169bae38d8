-- What is left over: the old database after a success, the half-restored one after a failure.
DROP DATABASE IF EXISTS kb_search_replaced WITH (FORCE);
DROP DATABASE IF EXISTS kb_search_restoring WITH (FORCE);
