import pytest
from langchain_core.runnables import RunnableLambda

from kb_search.adapters.langchain import KnowledgeBaseRetriever


async def test_a_retriever_gives_the_entries_that_answer_best_first(portfolio):
    retriever = KnowledgeBaseRetriever(kb=portfolio, limit=2)
    documents = await retriever.ainvoke("¿firmas un acuerdo de confidencialidad?")
    assert len(documents) <= 2
    first = documents[0]
    assert first.metadata["title"] == "Confidencialidad"
    assert first.metadata["section"] == "faq"
    assert first.metadata["confident"] is True
    stored = await portfolio.get(int(first.id or 0))
    assert first.page_content == stored.content


async def test_rows_that_no_question_found_come_only_where_asked_for(portfolio):
    question = "xyzzy plugh"
    assert await KnowledgeBaseRetriever(kb=portfolio).ainvoke(question) == []
    fixed = await KnowledgeBaseRetriever(kb=portfolio, with_fixed_rows=True).ainvoke(question)
    assert {document.metadata["section"] for document in fixed} == {"identidad", "skills"}
    assert all(document.metadata["score"] is None for document in fixed)
    assert all(document.metadata["confident"] is False for document in fixed)


async def test_a_retriever_takes_its_place_in_a_chain(tienda):
    retriever = KnowledgeBaseRetriever(kb=tienda, section="envios", limit=1)
    chain = retriever | RunnableLambda(lambda documents: documents[0].metadata["title"])
    assert await chain.ainvoke("cuánto cuesta mandar algo a Canarias") == "Gastos de envío"


def test_a_synchronous_call_says_what_to_call_instead(portfolio):
    with pytest.raises(NotImplementedError, match="ainvoke"):
        KnowledgeBaseRetriever(kb=portfolio).invoke("hola")
