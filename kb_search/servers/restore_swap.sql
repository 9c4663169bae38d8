-- The restored database takes the name; refused while anybody is connected to the old one.
ALTER DATABASE kb_search RENAME TO kb_search_replaced;
ALTER DATABASE kb_search_restoring RENAME TO kb_search;
