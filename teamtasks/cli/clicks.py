"""Click, built from the command table on demand: the authority for help, usage errors and everything unusual."""

from __future__ import annotations

import click

from teamtasks import __version__
from teamtasks.cli import failures
from teamtasks.cli.table import BY_NAME, COMMON, GROUPS, Param, options, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from teamtasks.cli.table import Command

    Run = Callable[[Command, dict[str, Any]], int]

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(argv: list[str], run: Run) -> int:
    try:
        code = group(run).main(argv, prog_name="teamtasks", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return failures.EXIT_USAGE
    except click.UsageError as error:
        named = next((word for word in argv if word in BY_NAME), "")
        where = error.ctx.command_path if error.ctx else f"teamtasks {named}".rstrip()
        return failures.usage(error.format_message(), f"{where} --help", json="--json" in argv)
    except click.exceptions.Abort:
        return 130
    except click.exceptions.Exit as end:
        return end.exit_code
    return code if isinstance(code, int) else 0


def group(run: Run) -> click.Group:
    return _Group(
        run,
        name="teamtasks",
        help="A durable task ledger for teams of agents.",
        params=[*[_option(param) for param in COMMON], _version()],
        context_settings=_SETTINGS,
        no_args_is_help=False,
        invoke_without_command=True,
        callback=_first_steps,
    )


def _first_steps(**_common: Any) -> int:
    """``teamtasks`` alone: what is there, and what to do next."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        from teamtasks import bootstrap
        from teamtasks.config import Config

        click.echo(context.get_help())
        there = bootstrap.teams(Config())
        told = (
            f"Teams here: {', '.join(there)}. Begin with: teamtasks list"
            if there
            else "No team yet. Begin with: teamtasks init TEAM"
        )
        click.echo(f"\n{told}")
    return 0


class _Group(click.Group):
    """Commands are made when they are asked for; help shows them by who uses them."""

    def __init__(self, run: Run, **settings: Any) -> None:
        super().__init__(**settings)
        self._run = run

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(BY_NAME)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = BY_NAME.get(cmd_name)
        return None if command is None else build(command, self._run)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in BY_NAME and not args[0].startswith("-"):
            from teamtasks.domain.names import did_you_mean

            meant = did_you_mean(args[0], list(BY_NAME))
            asked = f" Did you mean {meant}?" if meant else ""
            ctx.fail(f"no command {args[0]!r}.{asked}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for key, title in GROUPS.items():
            rows = [(c.name, c.help) for c in BY_NAME.values() if c.group == key]
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text("Start: teamtasks init TEAM, then teamtasks create TITLE; see a story: teamtasks demo")


class _Command(click.Command):
    """Help explains the words too, and shows examples as they are typed."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(param.metavar, param.help) for param in words(BY_NAME[self.name or ""])]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        command = BY_NAME[self.name or ""]
        if command.more:
            formatter.write_paragraph()
            formatter.write_text(command.more)
        with formatter.section("Examples"):
            for example in command.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def build(command: Command, run: Run) -> click.Command:
    def callback(**given: Any) -> int:
        context = click.get_current_context()
        values: dict[str, Any] = {}
        for source in (context.parent.params if context.parent else {}, given):
            values.update({name: value for name, value in source.items() if _was_given(value)})
        for param in words(command):
            if param.kind == "rest":
                values.setdefault(param.name, ())
        return run(command, values)

    params: list[click.Parameter] = [_argument(param) for param in words(command)]
    params += [_option(param) for param in options(command)]
    return _Command(command.name, help=command.help, params=params, callback=callback, context_settings=_SETTINGS)


def _was_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _argument(param: Param) -> click.Argument:
    many = -1 if param.kind == "rest" else 1
    return click.Argument([param.name], required=param.required, nargs=many, metavar=_shown(param))


def _shown(param: Param) -> str:
    shown = f"{param.metavar}…" if param.kind == "rest" else param.metavar
    return shown if param.required else f"[{shown}]"


def _option(param: Param) -> click.Option:
    if param.kind == "flag":
        return click.Option([param.name, *param.flags], is_flag=True, help=param.help)
    kinds: dict[str, Any] = {"int": _NUMBER, "choice": click.Choice(param.choices) if param.choices else None}
    return click.Option(
        [param.name, *param.flags],
        type=kinds.get(param.kind),
        multiple=param.kind == "many",
        required=param.required,
        metavar=param.metavar or None,
        help=param.help,
    )


class _Number(click.ParamType[int]):
    """Whole numbers from 0, as the quick reader takes them."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            self.fail(f"{value!r} is not a whole number from 0", param, ctx)
        return int(value)


_NUMBER = _Number()


def _version() -> click.Option:
    def show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value:
            click.echo(f"teamtasks {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="show the version"
    )
