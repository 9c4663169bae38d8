-- lock_seeds --
-- Held to the end of the transaction: loads take turns, since two that write the same entries in
-- opposite order would deadlock. Searches and other writers go on. One row, of no use.
SELECT pg_advisory_xact_lock(hashtext('kb_search'), hashtext('seeds'));
