"""Files and folders taken in as documents, and read back.

Only `run`, `watching` and what they call need the extra `documents`; reading back does not.
"""
