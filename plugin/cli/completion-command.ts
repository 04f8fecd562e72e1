/** `completion bash|zsh|fish`: prints a script that completes commands and options, generated from the program. */
import { Argument, type Command } from 'commander';
import { addHelp, COMMAND_LINE_PREFIX } from './command.ts';

/** Words that can follow a command line, such as `socketio-capacity stack up`. */
interface Choices {
  line: string;
  words: string[];
}

const NAME = 'socketio-capacity';

/** Scripts by shell. In each, the first matching line decides. A word that is not completed can be a file. */
const SCRIPTS: Record<string, (choices: Choices[]) => string> = {
  bash: (choices) => `_socketio_capacity() {
  local choices= line="\${COMP_LINE:0:COMP_POINT}"
${caseLines(choices)}
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _socketio_capacity ${NAME} npx`,
  zsh: (choices) => `_socketio_capacity() {
  local choices= line="$LBUFFER"
${caseLines(choices)}
  compadd -- \${=choices}
  _files
}
compdef _socketio_capacity ${NAME} npx`,
  fish: (choices) => `function __socketio_capacity
  switch (commandline --cut-at-cursor)
${choices.map(({ line, words }) => `    case '*${line} *'\n      printf '%s\\n' ${words.join(' ')}`).join('\n')}
  end
end
for program in ${NAME} npx
  complete --command $program --arguments '(__socketio_capacity)'
end`,
};

export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description(`Prints a script that completes \`${COMMAND_LINE_PREFIX}\` in a shell.`)
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .action((shell: string) => console.log(SCRIPTS[shell]?.(choicesIn(program, NAME))));
  addHelp(command, {
    examples: {
      'completion bash >> ~/.bashrc': 'from the next shell on',
      'completion zsh >> ~/.zshrc': 'after `compinit`',
      'completion fish >> ~/.config/fish/config.fish': 'in fish',
    },
    exitCodes: { 0: 'printed', 2: 'not one of these shells' },
  });
}

/** Returns the choices of a command and of all commands in it, the longest lines first. */
function choicesIn(command: Command, line: string): Choices[] {
  const help = command.createHelp();
  const inner = command.commands.filter((one) => one.name() !== 'help');
  const options = help.visibleOptions(command).flatMap(({ long }) => long ?? []);
  const words = [...inner.map((one) => one.name()), ...options];
  return [...inner.flatMap((one) => choicesIn(one, `${line} ${one.name()}`)), { line, words }];
}

function caseLines(choices: Choices[]): string {
  const cases = choices.map(({ line, words }) => `    *'${line} '*) choices='${words.join(' ')}' ;;`);
  return ['  case "$line" in', ...cases, '  esac'].join('\n');
}
