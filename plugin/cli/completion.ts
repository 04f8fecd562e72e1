/** `completion <shell>`: a script that knows all commands and options, so that no process starts while somebody types. */
import { Argument, type Command } from 'commander';
import { addHelp } from './command.ts';

/** Completed as a command of its own, and after `npx`. */
const EXECUTABLE = 'socketio-capacity';

const RUNS = ['results/*/'];
/** What arguments of these names can be: patterns below the current folder. */
const PATTERNS: Record<string, string[]> = {
  run: RUNS,
  reference: RUNS,
  result: RUNS,
  scenario: ['*.yml', 'scenarios/*.yml'],
  file: ['*.yml', 'scenarios/studies/*.yml'],
};

/** What can follow the words of a command. */
interface Completed {
  /** `baseline save`; empty for the program itself. */
  path: string;
  /** Commands, or what its first argument can be. */
  words: string[];
  options: string[];
  /** Of files that its first argument can be. */
  patterns: string[];
}

/** @param program with all its other commands */
export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description('Prints a script that lets a shell complete commands, options, runs and scenarios.')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action((shell: string) => {
      const found = completedIn(program, []);
      console.log(shell === 'fish' ? fishScript(found) : bashScript(found));
    });
  addHelp(command, {
    examples: {
      'completion bash >> ~/.bashrc': 'for bash; for zsh after `compinit` in ~/.zshrc',
      'completion fish >> ~/.config/fish/config.fish': 'for fish',
    },
    exitCodes: { 0: 'printed', 2: 'no such shell' },
  });
}

function completedIn(command: Command, names: string[]): Completed[] {
  const [argument] = command.registeredArguments;
  const own = {
    path: names.join(' '),
    words: argument?.argChoices ?? command.commands.map((inner) => inner.name()),
    options: [...command.options.map(({ long }) => long ?? ''), '--help'],
    patterns: PATTERNS[argument?.name() ?? ''] ?? [],
  };
  return [own, ...command.commands.flatMap((inner) => completedIn(inner, [...names, inner.name()]))];
}

/** For zsh as well, which emulates bash's completion. Names that zsh has for itself, such as `path`, are none of its variables. */
function bashScript(completed: Completed[]): string {
  const cases = completed.map(
    ({ path, words, options, patterns }) =>
      `    "${path}") next="${words.join(' ')}" flags="${options.join(' ')}" globs="${patterns.join(' ')}" ;;`,
  );
  return `[ -z "\${ZSH_VERSION-}" ] || { autoload -U +X bashcompinit && bashcompinit; }
_socketio_capacity() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="" next flags globs word index
  [[ "\${COMP_WORDS[0]}" == npx && "\${COMP_WORDS[1]}" != ${EXECUTABLE} ]] && return
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${at:+$at }\${COMP_WORDS[index]}"
    case "$word" in ${completed.map(({ path }) => `"${path}"`).join('|')}) at="$word" ;; esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  [[ "$current" == -* ]] && next="$flags" globs=""
  COMPREPLY=($(compgen -W "$next" -- "$current"))
  for word in $globs; do
    [[ -e "$word" && "$word" == "$current"* ]] && COMPREPLY+=("$word")
  done
}
complete -o default -F _socketio_capacity ${EXECUTABLE}
complete -p | grep -q ' npx$' || complete -o default -F _socketio_capacity npx`;
}

function fishScript(completed: Completed[]): string {
  const paths = completed.map(({ path }) => `'${path}'`).join(' ');
  const rules = completed.flatMap(({ path, words, options, patterns }) => {
    const rule = `complete -c $command -n '__socketio_capacity_at "${path}"'`;
    const found = patterns.length > 0 ? [`(set -l found ${patterns.join(' ')}; printf "%s\\n" $found)`] : [];
    return [
      ...[...words, ...found].map((word) => `  ${rule} -f -a '${word}'`),
      ...options.map((option) => `  ${rule} -l ${option.slice(2)}`),
    ];
  });
  return `function __socketio_capacity_at -a wanted
  set -l words (commandline -opc)
  test "$words[1]" = npx; and test "$words[2]" != ${EXECUTABLE}; and return 1
  set -l path ''
  for word in $words[2..]
    set -l longer (string trim "$path $word")
    contains -- $longer ${paths}; and set path $longer
  end
  test "$path" = "$wanted"
end
for command in ${EXECUTABLE} npx
${rules.join('\n')}
end`;
}
