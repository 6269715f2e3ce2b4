"""Length reports: exact counts against the planner itself, percentiles, and the stated rule of the recommendation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longdoc.errors import UsageError
from longdoc.study.lengths import length_report
from longdoc.text.chunking import plan_chunks


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=12).filter(any),
    st.integers(5, 80),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    st.integers(0, 3),
)
def test_costs_are_those_of_the_planned_chunks(counts, size, share, specials):
    report = length_report(counts, sizes=(size,), overlap_shares=(0.0, share), specials=specials)

    for cost in report.costs:
        chunks = [chunk for count in counts if count for chunk in plan_chunks(count, size - specials, cost.overlap)]
        assert cost.chunks == len(chunks)
        assert cost.tokens_encoded == sum(end - start + specials for start, end in chunks)
        assert cost.cost_factor == pytest.approx(cost.tokens_encoded / sum(counts))


def test_the_description_of_a_small_corpus():
    report = length_report([0, 100, 510, 511, 2000])

    assert (report.documents, report.empty, report.tokens) == (4, 1, 3121)
    assert report.percentiles["p50"] == 510
    assert report.percentiles["max"] == 2000
    assert report.share_over_one_chunk == 0.5
    assert report.share_beyond_one_chunk == pytest.approx((1 + 1490) / 3121)


def test_default_grid_and_plain_output():
    report = length_report([4000] * 3)

    grid = [(cost.size, cost.overlap) for cost in report.costs]
    assert grid == [(size, int(size * share)) for size in (128, 256, 512) for share in (0, 0.125, 0.25, 0.5)]
    assert json.loads(json.dumps(report.to_dict()))["costs"][-1]["overlap"] == 256
    text = report.to_text()
    assert text.splitlines()[0] == "3 documents, 12000 tokens"
    assert length_report([4000, 0]).to_text().startswith("1 document, 4000 tokens; 1 more without a token\n")
    marked = [line.split()[:2] for line in text.splitlines() if line.endswith("<-")]
    assert marked == [["512", "128"]]


class TestRecommendation:
    def test_nothing_to_chunk(self):
        advice = length_report([10, 510]).recommendation

        assert (advice.size, advice.overlap) == (512, 0)
        assert advice.reason == (
            "Every document fits into one chunk of 512: chunking, overlap and merging change nothing here."
        )

    def test_few_long_documents(self):
        advice = length_report([100] * 95 + [600] * 5).recommendation

        assert (advice.size, advice.overlap) == (512, 128)
        assert advice.reason.startswith("Only 5.0% of the documents do not fit into one chunk of 512, so")

    def test_many_long_documents(self):
        advice = length_report([1020] * 10).recommendation

        assert (advice.size, advice.overlap) == (512, 128)
        assert advice.reason.startswith(
            "100.0% of the documents do not fit into one chunk of 512; truncated there, 50.0% of all tokens would"
        )

    def test_the_widest_overlap_within_the_budget_is_chosen(self):
        def added(overlap: int) -> float:
            (cost,) = length_report(counts, sizes=(512,), overlap_shares=(overlap / 512,)).costs
            (plain,) = length_report(counts, sizes=(512,), overlap_shares=(0,)).costs
            return cost.tokens_encoded / plain.tokens_encoded - 1

        counts = [20_000] * 4
        overlaps = (0, 32, 64, 128, 160, 256)
        advice = length_report(counts, overlap_shares=[overlap / 512 for overlap in overlaps]).recommendation

        assert advice.overlap == max(overlap for overlap in overlaps if added(overlap) <= 0.4)

    def test_short_documents_do_not_hide_the_cost_for_long_ones(self):
        alone = length_report([20_000] * 4).recommendation
        among_short_ones = length_report([20_000] * 4 + [50] * 4000).recommendation

        assert alone.overlap == among_short_ones.overlap == 128


def test_no_tokens_at_all_is_refused():
    with pytest.raises(UsageError) as refusal:
        length_report([0, 0])

    assert str(refusal.value) == ("`token_counts` must hold a document with at least 1 token, but none of 2 has one.")
