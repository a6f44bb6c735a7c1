"""The rule behind the `apply_patch` tool."""

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workstead import errors
from workstead.agents.tools import patches

lines = st.lists(st.text("ab -+@\\\r\té", max_size=4), max_size=14)
texts = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n"]))

BEFORE = "one\ntwo\nthree\nfour\nfive\n"
PATCH = """--- a/src/x.txt
+++ b/src/x.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
@@ -5 +5,2 @@
 five
+six
"""


def diff(before: str, after: str, *, context: int) -> str:
    """What `diff -u` prints; difflib leaves the mark of a missing line end to its caller."""
    made = difflib.unified_diff(
        patches.split_lines(before), patches.split_lines(after), "a/f.txt", "b/f.txt", n=context
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def one(patch: str) -> patches.FilePatch:
    (file,) = patches.parse(patch)
    return file


def malformed(patch: str) -> str:
    with pytest.raises(errors.Refusal) as refused:
        patches.parse(patch)
    assert refused.value.kind is errors.Kind.INVALID
    return refused.value.message


def mismatch(patch: str, before: str | None) -> str:
    with pytest.raises(errors.Refusal) as refused:
        patches.apply(one(patch), before)
    assert refused.value.code == "patch_mismatch"
    return refused.value.message


@given(before=texts, after=texts, context=st.integers(0, 3))
def test_any_difference_between_two_texts_applies_exactly(before: str, after: str, context: int) -> None:
    """Whatever a diff says, applying it gives the other text, line ends included."""
    made = diff(before, after, context=context)
    if before == after:
        assert made == ""
        return
    assert patches.apply(one(made), before) == after


@given(before=texts, after=texts)
def test_a_diff_never_applies_to_another_text_by_chance(before: str, after: str) -> None:
    """Its whole text is context here, so only that text may match."""
    made = diff(before, after, context=99)
    if made and before:
        assert "hunk 1" in mismatch(made, f"x{before}")


def test_several_hunks_apply_in_their_order() -> None:
    """The ordinary case."""
    assert patches.apply(one(PATCH), BEFORE) == "one\nTWO\nthree\nfour\nfive\nsix\n"


def test_one_patch_creates_changes_and_deletes_files() -> None:
    """What git prints for three files."""
    patch = (
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/new.txt\n"
        "@@ -0,0 +1 @@\n+hello\n\\ No newline at end of file\n"
        "diff --git a/src/x.txt b/src/x.txt\nindex 111..222 100644\n" + PATCH + "\n"
        "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-gone\n-- \n2.39.5\n"
    )
    created, changed, deleted = patches.parse(patch)
    assert [file.path for file in (created, changed, deleted)] == ["new.txt", "src/x.txt", "old.txt"]
    assert patches.apply(created, None) == "hello"
    assert patches.apply(changed, BEFORE) is not None
    assert patches.apply(deleted, "gone\n") is None


def test_what_git_prints_for_real_files_is_understood(tmp_path: Path) -> None:
    """Empty files have no hunks, only git's own lines."""

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True).stdout

    git("init", "-q")
    (tmp_path / "kept.txt").write_text(BEFORE)
    (tmp_path / "gone.txt").write_text("")
    git("add", ".")
    git("commit", "-qm", "start")
    (tmp_path / "kept.txt").write_text(BEFORE.replace("two", "2"))
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "empty.txt").write_text("")
    git("add", ".")
    files = {file.path: file for file in patches.parse(git("diff", "--cached", "--no-renames"))}
    assert patches.apply(files["kept.txt"], BEFORE) == BEFORE.replace("two", "2")
    assert patches.apply(files["empty.txt"], None) == ""
    assert patches.apply(files["gone.txt"], "") is None
    assert len(files) == 3


def test_a_stripped_empty_line_of_context_still_counts() -> None:
    """Editors and models drop the one space."""
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert patches.apply(one(patch), "a\n\nb\n") == "a\n\nc\n"


def test_paths_without_git_prefixes_are_taken_as_they_are() -> None:
    """`diff -u src/x.txt new` style headers name the file itself."""
    assert one("--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n").path == "a/x"
    assert one("--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n").path == "x"


@pytest.mark.covers("K15")
@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "./x", "a//x", "a/", "record:///status.md"])
def test_only_project_relative_paths_are_named(path: str) -> None:
    """Bad input: path tricks."""
    for patch in (
        f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n",
        f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n",
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+b\n",
    ):
        assert "project files only" in malformed(patch)


def test_a_hunk_that_does_not_match_names_file_hunk_line_and_both_texts() -> None:
    """The next patch can be right; nothing is guessed."""
    message = mismatch(PATCH, BEFORE.replace("two", "2"))
    assert "src/x.txt: hunk 1 expects 'two\\n' at line 2, but there is '2\\n'" in message
    assert "hunk 2 expects 'five\\n' at line 5, but there is the end of the file" in mismatch(
        PATCH, "one\ntwo\nthree\nfour\n"
    )


def test_a_hunk_whose_lines_stand_elsewhere_says_where() -> None:
    """Wrong line numbers are the usual mistake."""
    assert "its old lines stand at line 3" in mismatch(PATCH, "zero\nzero\n" + BEFORE)


def test_a_missing_line_end_is_a_difference() -> None:
    """Exact means the end of the last line too."""
    patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    assert "'a\\n'" in mismatch(patch, "a")
    ended = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"
    assert "no line end" in mismatch(ended, "a\nmore\n")


def test_files_that_are_there_or_not_there_are_told_apart() -> None:
    """Creating over a file would lose it."""
    created = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    assert "there already" in mismatch(created, "")
    assert "no such file" in mismatch(PATCH, None)
    deleted = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert "would stay" in mismatch(deleted, "a\nb\n")
    assert "no such file" in mismatch(deleted, None)


def test_hunks_that_overlap_are_refused() -> None:
    """The second would undo the first."""
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -2 +2 @@\n-two\n+zwei\n"
    assert "hunk 2 begins before" in mismatch(patch, BEFORE)


@pytest.mark.covers("K15")
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "names no file"),
        ("just words\n", "names no file"),
        ("*** Begin Patch\n*** Update File: x\n", "no unified diff"),
        ("--- a/x\n@@ -1 +1 @@\n-a\n+b\n", "no `+++` line"),
        ("--- a/x\n+++ b/x\n", "no hunk for x"),
        ("--- a/x\n+++ b/x\n@@ here @@\n-a\n+b\n", "begins with '@@ here @@'"),
        (
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b\n",
            "hunk 1 of x says 2 old and 1 new lines, but has 1 and 1",
        ),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n", "but has more"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", "changes nothing"),
        ("@@ -1 +1 @@\n-a\n+b\n", "belongs to no hunk"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "turns a/x into b/y"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "/dev/null on both sides"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "creates x but names old lines"),
        ('--- "a/x"\n+++ "b/x"\n@@ -1 +1 @@\n-a\n+b\n', "quotes the path"),
        ("diff --git a/x b/y\nrename from x\nrename to y\n", "renames a file"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "mode"),
        ("Binary files a/x and b/x differ\n", "binary"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\0\n", "NUL"),
        (PATCH + PATCH, "names src/x.txt twice"),
    ],
)
def test_a_patch_that_is_not_fully_understood_is_refused(patch: str, said: str) -> None:
    """A half understood patch is worse than none; the sentence says what to correct."""
    assert said in malformed(patch)
