"""The `ampcourse` command: reads arguments, calls the part that does the work, prints errors."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not as it should be, 2 misuse."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["lab"], ["test"]):  # these pass their arguments through
        from ampcourse import launch

        return getattr(launch, arguments[0])(arguments[1:])
    if arguments[:1] in (["benchmark"], ["report"]):  # these read their own
        return run_measuring(arguments[0], arguments[1:])
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ValueError, OSError) as error:
        print(f"ampcourse {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"ampcourse {options.command}: stopped", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = argparse.ArgumentParser(prog="ampcourse", description="The course on mixed precision.")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("lab", help="open the course in JupyterLab")
    commands.add_parser("test", help="run the whole test suite")
    commands.add_parser("benchmark", help="measure training in several kinds of arithmetic")
    commands.add_parser("report", help="compare what was measured with others and with limits")
    build = commands.add_parser("build", help="derive the notebooks from notebooks/source")
    build.add_argument("lessons", nargs="*", metavar="NN", help="which lessons; all if none")
    build.add_argument("--check", action="store_true", help="only say what is not up to date")
    build.set_defaults(run=run_build)
    add_classroom(commands)
    slides = commands.add_parser("slides", help="build the lessons' decks, as HTML and PDF")
    slides.add_argument("decks", nargs="*", metavar="NN", help="or first_hour; all if none")
    slides.add_argument("--pdf", action="store_true", help="print each one, too, by Chromium")
    slides.add_argument("--open", action="store_true", help="open the first one in the browser")
    slides.add_argument("--out", type=Path, metavar="FOLDER", help="build/slides in the clone")
    slides.set_defaults(run=run_slides)
    diagnose = commands.add_parser("diagnose", help="run a training script, say what is wrong")
    diagnose.add_argument("script", type=Path, metavar="SCRIPT")
    diagnose.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own")
    diagnose.set_defaults(run=run_diagnose)
    return root


def add_classroom(commands: Any) -> None:
    """Add what teachers run, and `check`."""
    release = commands.add_parser("release", help="write what learners get into a new folder")
    release.add_argument("folder", type=Path, metavar="OUT")
    release.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="all if left out")
    release.set_defaults(run=classroom("run_release"))
    collect = commands.add_parser("collect", help="list what was handed in, and what is odd")
    add_submissions(collect, "+")
    collect.set_defaults(run=classroom("run_collect"))
    grade = commands.add_parser(
        "grade",
        help="grade notebooks, or a class",
        description="Grade single notebooks, printing a report each; or folders and zip files, "
        "keeping each result in a folder as it comes and writing feedback pages. Exit status: "
        "0 all graded, 1 some could not be, 2 misuse or a folder that cannot be written, "
        "130 stopped (what was graded is kept, the same command goes on).",
    )
    add_submissions(grade, "*")
    grade.add_argument("--json", action="store_true", help="print the reports as JSON")
    grade.add_argument("--results", type=Path, metavar="FOLDER", help="where they are kept: grades")
    grade.add_argument("--workers", type=positive, default=2, metavar="N", help="processes: 2")
    grade.add_argument("--scheduler", metavar="ADDRESS", help="of a dask.distributed cluster")
    grade.add_argument(
        "--self-test", action="store_true", help="try the course's own right and wrong answers"
    )
    grade.set_defaults(run=run_grade)
    export = commands.add_parser("export", help="hand marks on to other systems")
    export.add_argument("kind", choices=("csv", "json", "canvas", "moodle", "nbgrader"))
    export.add_argument("out", type=Path, metavar="OUT", help="the file to write")
    export.add_argument("--results", type=Path, default=Path("grades"), metavar="FOLDER")
    export.add_argument("--lesson", default="", metavar="NN", help="for canvas and moodle")
    export.add_argument("--sheet", type=Path, metavar="CSV", help="what canvas or moodle exported")
    export.add_argument("--column", default="", metavar="NAME", help="of canvas's sheet, to fill")
    export.add_argument(
        "--scale", action="store_true", help="to the sheet's points, if they differ from ours"
    )
    export.set_defaults(run=classroom("run_export"))
    check = commands.add_parser(
        "check",
        help="run a notebook of your own and its visible checks",
        description="Run a notebook with your rights, as Validate does, and say which of its "
        "visible checks hold. Exit status: 0 all hold, 1 not all, 2 misuse.",
    )
    check.add_argument("notebook", type=Path, metavar="NOTEBOOK")
    check.set_defaults(run=classroom("run_check"))


def add_submissions(command: argparse.ArgumentParser, count: str) -> None:
    """Add the arguments that say what was handed in."""
    command.add_argument(
        "submissions",
        nargs=count,
        type=Path,
        metavar="SUBMISSIONS",
        help="notebooks, folders (nbgrader's submitted, a Canvas or Moodle download), zip files",
    )
    command.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="only these")
    command.add_argument(
        "--due", action="append", default=[], metavar="[NN=]WHEN", help="such as 2026-12-01T23:59"
    )
    command.add_argument("--roster", type=Path, metavar="FILE", help="ids, one a line, or a CSV")


def classroom(name: str) -> Callable[[argparse.Namespace], int]:
    """Return a command of the classroom's, which is imported when it runs."""

    def run(options: argparse.Namespace) -> int:
        from ampcourse.classroom import command

        return int(getattr(command, name)(options))

    return run


def positive(text: str) -> int:
    """Read a number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def run_measuring(command: str, arguments: Sequence[str]) -> int:
    """Run `benchmark`, which ends with a report of its rows, or `report`."""
    try:
        from ampcourse.benchmark import command as benchmark
        from ampcourse.report import command as report
    except ModuleNotFoundError as error:
        print(
            f"ampcourse {command}: {error.name} is missing here. It needs torch, torchvision, "
            "numpy, matplotlib, tqdm, pandas and scikit-learn; `python3 -m ampcourse lab "
            "--no-browser` sets up an environment with them.",
            file=sys.stderr,
        )
        return 2
    if command == "report":
        return report.main(arguments)

    def finish(rows: Path) -> int:
        figure = str(rows.with_suffix(".svg"))
        return report.main([str(rows), "--figure", figure])

    return benchmark.main(arguments, finish)


def run_build(options: argparse.Namespace) -> int:
    """Build the lessons, or say which notebooks differ from what their sources build."""
    from ampcourse.courseware.build import build, stale
    from ampcourse.courseware.course import find_course

    course = find_course()
    slugs = course.select(options.lessons)
    if options.check:
        differences = [line for slug in slugs for line in stale(course, slug)]
        print("\n".join(differences) or f"{len(slugs)} lessons are up to date")
        return 1 if differences else 0
    for slug in slugs:
        print(f"building {slug}", flush=True)
        build(course, slug)
    return 0


def run_slides(options: argparse.Namespace) -> int:
    """Build decks."""
    from ampcourse.slides import command

    return command.run(options)


def run_grade(options: argparse.Namespace) -> int:
    """Grade single notebooks or a class, or try the course's own answers."""
    from ampcourse.classroom import command

    if options.self_test:
        return command.run_self_test(options)
    if not options.submissions:
        raise ValueError("name notebooks, folders or zip files to grade, or --self-test")
    if options.results or options.scheduler or command.is_class(options.submissions):
        return command.run_grade(options)
    return grade_single(options)


def grade_single(options: argparse.Namespace) -> int:
    """Grade the files and print a report for each; 1 if one could not be graded."""
    from ampcourse.courseware.course import find_course
    from ampcourse.courseware.grade import grade_files
    from ampcourse.courseware.report import as_json, as_text

    reports = []
    for report in grade_files(find_course(), options.submissions):
        reports.append(report)
        if not options.json:
            print(as_text(report), flush=True)
    if options.json:
        print(as_json(reports))
    return int(any(report.problem for report in reports))


def run_diagnose(options: argparse.Namespace) -> int:
    """Run a script under `watch` and print what was found; its own status, or 1 for findings."""
    from ampcourse.diagnose.script import run_script

    return run_script(options.script, options.arguments)
