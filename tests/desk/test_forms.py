"""The ready forms ask what the papers asked: the same questions, the same numbers, the same versions."""

from collections import Counter
from pathlib import Path

import pytest
from lookback.agreement import load_plan
from lookback.benchmarks.memobench.vqa.bank import from_part_id
from lookback.clips import Clip
from lookback.desk.forms import all_forms, find_form, forms_for
from lookback.desk.items import TIE
from lookback.errors import UsageError
from lookback.paths import project_root

FORMS = ["mbench_trigger", "mbench_pairwise", "memobench_survey", "memobench_review", "wrbench_axes"]
PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "clips" / "memobench" / "vqa_questions"


def items(run, form, seed=1):
    return find_form(form).items(run.params, run.clips, seed)


def test_every_paper_with_a_study_has_its_forms():
    assert list(all_forms()) == FORMS
    with pytest.raises(UsageError, match="did you mean 'mbench_pairwise'"):
        find_form("mbench_pairwize")


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_ready_to_use(name, small_run):
    run, form = small_run(), find_form(name)
    study = run.study(name)
    assert len(form.words.instructions) >= 3 and len(study.practice) >= 2 and study.gold
    for item in (*study.practice, *study.gold):
        assert item.right and set(item.right) <= {question.id for question in item.questions}
        if item.role == "practice":
            assert item.why
            labels = {question.id: question.labels for question in item.questions}
            assert all(label in labels[asked] for asked, label in item.right.items())
    assert [found.name for found in forms_for(run.params, run.clips)] == list(all_forms())


@pytest.mark.parametrize("name", FORMS)
def test_the_shipped_plan_analyses_every_vote_of_a_form(name, small_run, monkeypatch):
    run = small_run()
    asked = {(question.task, question.dimension.split("#")[0]) for item in items(run, name) for question in item.questions}
    monkeypatch.delenv("LOOKBACK_ROOT")
    plan = load_plan(project_root() / "params" / "agreement.yaml")
    declared = {
        (family.task, dimension)
        for family in plan.families.values()
        if family.benchmark == find_form(name).benchmark
        for dimension in family.dimensions
    }
    assert asked and asked <= declared


def test_mbench_asks_all_questions_of_a_subset_about_a_pair_on_one_page(small_run):
    found = items(small_run(), "mbench_pairwise")
    assert len(found) == 4 * 3  # four tasks, three pairs of models
    assert {tuple(question.dimension for question in item.questions) for item in found} == {("human_identity", "human_appearance")}
    assert len({item.id for item in found}) == len(found)


def test_mbench_asks_the_trigger_of_text_conditioned_clips_only(small_run):
    run = small_run()
    run.clips.append(Clip(benchmark="mbench", setting="A", model_id="aldermoor", clip_id="x", subset="human", video="x.mp4"))
    found = items(run, "mbench_trigger")
    assert len(found) == 4 * 3 and {item.setting for item in found} == {"T"}
    assert {question.answers for item in found for question in item.questions} == {"yes_no"}


def test_wrbench_keeps_its_six_axes_apart_and_checks_a_return_before_it_is_compared(small_run):
    found = items(small_run(), "wrbench_axes")
    assert len(found) == 4 * 3 * 6
    axes = Counter(item.questions[-1].dimension for item in found)
    assert axes == dict.fromkeys(
        ("camera", "visual_integrity", "visible_spatial", "visible_state", "reobserved_spatial", "reobserved_state"), 12
    )
    for item in found:
        axis = item.questions[-1].dimension
        if axis.startswith("reobserved"):
            judgeable, claim = item.questions
            assert (judgeable.task, judgeable.dimension, claim.only_if) == ("judgeability", axis, f"judgeability/{axis}")
            item.check({judgeable.id: "no"})  # what cannot be judged is not compared
            with pytest.raises(UsageError, match="not asked here"):
                item.check({judgeable.id: "no", claim.id: "1"})
            with pytest.raises(UsageError, match="no answer yet"):
                item.check({judgeable.id: "yes"})
        else:
            assert len(item.questions) == 1


def survey_counts(found):
    asked = [(item.block, item.scene, from_part_id(item.questions[0].dimension.split("#")[1])) for item in found]
    return (
        Counter(version for version, _, _ in asked),
        Counter((version, scene) for version, scene, _ in asked),
        Counter((version, question.dimension, question.polarity) for version, _, question in asked),
    )


def test_memobenchs_survey_has_96_questions_in_four_versions_of_24(small_run):
    found = items(small_run(scenes=14, models=("aldermoor", "birkdale")), "memobench_survey")
    versions, per_scene, sides = survey_counts(found)
    assert len(found) == 96 and len({item.scene for item in found}) == 12
    assert versions == {f"version {number}": 24 for number in (1, 2, 3, 4)}
    assert set(per_scene.values()) == {2}  # interleaved: every version asks about every scene
    assert len(sides) == 4 * 4 * 2 and set(sides.values()) == {3}  # each dimension in both polarities, alike in all versions
    assert {item.model_a for item in found} == {"ground_truth"}
    assert find_form("memobench_survey").words.blocks_per_person == 1


def test_the_survey_of_a_seed_is_always_the_same_and_of_another_seed_is_not(small_run):
    run = small_run(scenes=12, models=("aldermoor",))
    first = [item.id for item in items(run, "memobench_survey", 1)]
    assert first == [item.id for item in items(run, "memobench_survey", 1)]
    assert first != [item.id for item in items(run, "memobench_survey", 2)]


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published question files are not in ../shared/clips")
def test_the_published_questions_make_a_survey_of_96(small_run):
    run = small_run(scenes=1, models=("aldermoor",))
    (run.root / "outputs" / "small" / "tables" / "judging" / "vqa_banks.json").unlink()
    names = sorted(path.name.split("-")[:2] for path in PUBLISHED.glob("*-questions.csv"))
    run.clips[:] = [
        Clip(
            benchmark="memobench",
            setting="real",
            model_id="aldermoor",
            clip_id=f"{scene}_{int(number):03d}",
            scene=scene,
            video="x.mp4",
            ground_truth="x.mp4",
        )
        for scene, number in names
    ]
    params = run.params.changed(judging={"vqa_questions": str(PUBLISHED)})
    found = find_form("memobench_survey").items(params, run.clips, 1)
    versions, per_scene, _ = survey_counts(found)
    assert len(found) == 8 * min(12, len({scene for scene, _ in names}))
    assert len(set(versions.values())) == 1 and set(per_scene.values()) == {2}


def test_memobenchs_review_checks_every_question_three_times_beside_the_failure(small_run):
    run = small_run(scenes=2)
    (run.root / "failures.csv").write_text("clip_id,model_id,hint\nScene0_001,birkdale,the ball is gone\n")
    params = run.params.changed(judging={"vqa_failures": "failures.csv"})
    found = find_form("memobench_review").items(params, run.clips, 1)
    assert len(found) == 2 * 24
    assert {question.dimension.split("#")[0] for item in found for question in item.questions} == {
        "unambiguous",
        "correctly_polarised",
        "answerable",
    }
    beside = {item.clip_a: [video.caption for video in item.videos] for item in found}
    assert beside == {"Scene0_001": ["Ground truth", "A known failure"], "Scene1_001": ["Ground truth"]}
    gold = find_form("memobench_review").gold(found)
    stated = {item.context[1].lines for item in found if item.scene == gold[0].scene}
    assert gold[0].context[1].lines in stated and list(gold[0].right.values()) == ["no"]


def test_a_run_without_question_banks_is_told_what_to_do(small_run):
    run = small_run()
    (run.root / "outputs" / "small" / "tables" / "judging" / "vqa_banks.json").unlink()
    with pytest.raises(UsageError, match=r"judging\.vqa_questions"):
        items(run, "memobench_survey")


def test_gold_items_have_an_answer_by_construction(small_run):
    run = small_run()
    for item in find_form("mbench_pairwise").gold(items(run, "mbench_pairwise")):
        assert item.videos[0] == item.videos[1] and set(item.right.values()) == {TIE}
    for item in find_form("mbench_trigger").gold(items(run, "mbench_trigger")):
        assert item.videos[0].still and set(item.right.values()) == {"no"}
    for item in find_form("wrbench_axes").gold(items(run, "wrbench_axes")):
        assert all(not question.only_if for question in item.questions)
