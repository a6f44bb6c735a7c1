"""What a practice script may say, and how a broken one is named."""

import pytest

from workstead import errors
from workstead.agents.models import practice_script
from workstead.agents.models.practice_script import Condition, Script
from workstead.agents.models.shape import Child
from workstead.work.workflow.lifecycle import Entry, Status

WHOLE = """
- name: first
  when: {agent: planner, card: Due dates, node: plan, entry: BACKLOG, if: {child_missing: Parse}}
  turns:
    - say: Two steps.
      delay_ms: 5
      calls:
        - create_card: {type: code, title: Parse, bootstrap_content: "Do ${card.title} in ${HOME}", priority: 3}
          as: parse
          unless: {child: Parse}
    - calls:
        - activate_card: {card_id: "${parse.card_id}", instructions: go}
          unless: {child: Parse, status: [done, failed]}
      times: 2
- when: {agent: planner, card: Due dates, node: recover}
  turns: {same_as: plan}
"""


def compiled(source: str) -> Script:
    return practice_script.compile_script(source.encode())


def issues(source: str) -> list[tuple[str, str]]:
    with pytest.raises(errors.Refusal) as refused:
        compiled(source)
    assert refused.value.code == "practice_script_invalid"
    assert refused.value.issues[0].path in refused.value.message
    return [(issue.path, issue.message) for issue in refused.value.issues]


def scene(body: str, *, when: str = "{agent: planner, node: plan}") -> str:
    return f"- when: {when}\n  turns:\n    - calls:\n{body}\n"


def test_a_script_is_read_whole() -> None:
    """first-hour.md, Practice: the format."""
    first, again = compiled(WHOLE).scenes
    assert (first.name, first.agent, first.card, first.node) == ("first", "planner", "Due dates", "plan")
    assert first.entry is Entry.BACKLOG
    assert first.conditions == (Condition(child="Parse", present=False),)
    assert [turn.say for turn in first.turns] == ["Two steps.", "", ""]
    assert [turn.delay_ms for turn in first.turns] == [5, None, None]
    made = first.turns[0].calls[0]
    assert made.arguments["priority"] == 3
    assert made.arguments["bootstrap_content"] == "Do ${card.title} in ${HOME}"
    started = first.turns[1].calls[0]
    assert started.unless == Condition(child="Parse", statuses=frozenset({Status.DONE, Status.FAILED}))
    assert again.turns is first.turns
    assert again.entry is None


def test_a_named_call_knows_its_child_by_title_or_by_what_makes_it_needless() -> None:
    """After a restart the result is not in this step's history; the title leads to the card."""
    script = compiled(
        scene(
            "        - create_card: {type: code, title: Parse}\n          as: parse\n"
            "        - reopen_card: {card_id: x}\n          as: again\n          unless: {child: List}\n"
            "        - get_card: {card_id: x}\n          as: seen"
        )
    )
    assert {name: named.child for name, named in script.names.items()} == {
        "parse": "Parse",
        "again": "List",
        "seen": None,
    }


@pytest.mark.parametrize(
    ("condition", "present", "absent"),
    [
        (Condition(child="Parse"), True, False),
        (Condition(child="Parse", present=False), False, True),
        (Condition(child="Parse", statuses=frozenset({Status.DONE})), True, False),
        (Condition(child="Parse", statuses=frozenset({Status.FAILED})), False, False),
    ],
)
def test_a_condition_is_about_a_child_and_its_status(condition: Condition, *, present: bool, absent: bool) -> None:
    """The second review must be told from the first by what is there."""
    assert condition.holds({"Parse": Child(card_id="project/code-1", status="done")}) is present
    assert condition.holds({"Other": Child(card_id="project/code-2", status="done")}) is absent


@pytest.mark.parametrize(
    ("source", "path", "part"),
    [
        ("x: 1", "practice.yaml:1", "must be a list"),
        ("[]", "practice.yaml:1", "at least one scene"),
        ("- when: [", "practice.yaml:2", "not valid YAML"),
        ("- when: {agent: a, node: n}", "practice.yaml:1 [0]", "`turns` must be given"),
        ("- whn: {agent: a, node: n}\n  turns: []", "practice.yaml:1 [0].whn", "did you mean `when`"),
        ("- when: {agent: A, node: n}\n  turns: []", "practice.yaml:1 [0].when.agent", "no agent name"),
        ("- when: {agent: a, node: n, entry: PLAN}\n  turns: []", "practice.yaml:1 [0].when.entry", "must be one of"),
        ("- when: {agent: a, node: n}\n  turns: []", "practice.yaml:2 [0].turns", "at least one turn"),
        ("- when: {agent: a, node: n}\n  turns: [{say: hm}]", "practice.yaml:2 [0].turns[0]", "`calls` must be given"),
        (
            "- when: {agent: a, node: n}\n  turns:\n    - calls: []",
            "practice.yaml:3 [0].turns[0].calls",
            "at least one tool",
        ),
        (scene("        - {read: {}, write: {}}"), "practice.yaml:4 [0].turns[0].calls[0]", "A call is one tool"),
        (scene("        - {Read: {}}"), "practice.yaml:4 [0].turns[0].calls[0].Read", "no tool name"),
        (scene("        - {read: here}"), "practice.yaml:4 [0].turns[0].calls[0].read", "must be a mapping"),
        (scene("        - {read: {}, as: card}"), "practice.yaml:4 [0].turns[0].calls[0].as", "no name of a call"),
        (
            scene("        - {read: {}, unless: {child: X, status: [ready]}}"),
            "practice.yaml:4 [0].turns[0].calls[0].unless.status[0]",
            "must be one of",
        ),
        (
            scene("        - {read: {}, unless: {child_missing: X}}"),
            "practice.yaml:4 [0].turns[0].calls[0].unless.child_missing",
            "not a key here",
        ),
        (
            scene("        - {read: {path: '${pars.card_id}'}}"),
            "practice.yaml:4 [0].turns[0].calls[0].read",
            "names no call",
        ),
        (
            scene("        - {read: {path: ['${card.name}']}}"),
            "practice.yaml:4 [0].turns[0].calls[0].read",
            "`id` and `title`",
        ),
        (
            scene("        - {a: {}, as: x}\n        - {b: {path: '${x.card_id}'}}"),
            "practice.yaml:5 [0].turns[0].calls[1].b",
            "only after the turn",
        ),
        (
            scene("        - {a: {}, as: x}") + scene("        - {b: {path: '${x.card_id}'}}"),
            "practice.yaml:8 [1].turns[0].calls[0].b",
            "reaches into another scene",
        ),
        (
            scene("        - {a: {}, as: x}\n        - {b: {}, as: x}"),
            "practice.yaml:5 [0].turns[0].calls[1]",
            "name of an earlier call",
        ),
        (
            "- when: {agent: a, node: n}\n  turns: {same_as: m}",
            "practice.yaml:2 [0].turns.same_as",
            "No scene has the name",
        ),
        (
            "- when: {agent: a, node: n}\n  turns: {same_as: n}",
            "practice.yaml:2 [0].turns.same_as",
            "no turns of its own",
        ),
    ],
)
def test_a_broken_script_is_named_by_file_line_and_key(source: str, path: str, part: str) -> None:
    """House style, line 24 and work.md: a mistake is found before the run, where it stands."""
    assert [each for each in issues(source) if each[0] == path and part in each[1]], issues(source)


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody wants to mend a file by one mistake a time."""
    source = "- when: {agent: A, node: n}\n  turns: []\n- name: x\n  when: {node: n}\n  turns: {same_as: y}\n"
    assert [path for path, _ in issues(source)] == [
        "practice.yaml:1 [0].when.agent",
        "practice.yaml:2 [0].turns",
        "practice.yaml:4 [1].when",
        "practice.yaml:5 [1].turns.same_as",
    ]


def test_turns_are_borrowed_by_name_where_a_node_has_several_scenes() -> None:
    """A plan after a review is another scene than the first plan."""
    two = scene("        - {a: {}}") + scene("        - {b: {}}")
    borrower = "- when: {agent: planner, node: recover}\n  turns: {same_as: plan}\n"
    assert "Several scenes" in issues(two + borrower)[0][1]
    named = two.replace("- when", "- name: second\n  when").replace("second", "first", 1)
    script = compiled(named + borrower.replace("same_as: plan", "same_as: second"))
    assert [call.tool for turn in script.scenes[2].turns for call in turn.calls] == ["b"]


def test_a_scene_name_stands_once() -> None:
    """`same_as` must lead to one scene."""
    one = "- name: x\n  when: {agent: a, node: n}\n  turns: [{calls: [{read: {}}]}]\n"
    assert issues(one + one) == [("practice.yaml:4 [1].name", "`x` is the name of an earlier scene; names stand once.")]
