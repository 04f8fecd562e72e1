/** `completion <shell>`: a script for the shell, which asks the hidden command `complete` while somebody types. */
import { existsSync, globSync } from 'node:fs';
import { dirname } from 'node:path';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { addHelp } from './command.ts';

/** The command that a shell completes: it cannot complete the arguments of `npx`. */
const EXECUTABLE = 'socketio-capacity';

/** What arguments of these names can be, below the current folder. */
const PATHS: Record<string, () => string[]> = {
  run: runs,
  reference: runs,
  others: runs,
  result: runs,
  scenario: () => globSync(['*.yml', 'scenarios/*.yml']),
  file: () => globSync(['*.yml', 'scenarios/studies/*.yml']),
};

/** @param program with all its other commands */
export function addCompletion(program: Command): void {
  const name = program.name();
  const completed = tab(program.name(EXECUTABLE), { completionCommandName: 'completion' });
  program.name(name);
  for (const command of completed.commands.values()) {
    for (const argument of command.arguments.values()) {
      const paths = PATHS[argument.name];
      if (!paths) continue;
      argument.handler = (complete) => {
        for (const path of paths()) complete(path, '');
      };
    }
  }
  const command = program.commands.find((one) => one.name() === 'completion') as Command;
  addHelp(command.description('Prints a script that lets a shell complete commands, options, runs and scenarios.'), {
    examples: {
      'completion bash > ~/.local/share/bash-completion/completions/socketio-capacity': 'for bash, from its next start',
      'completion fish > ~/.config/fish/completions/socketio-capacity.fish': 'for fish',
    },
    exitCodes: { 0: 'printed', 2: 'no such shell' },
  });
}

/** Those of the default folder, with `latest`, and series of them. */
function runs(): string[] {
  const folders = globSync('results/*/{result,repeat}.json').map(dirname);
  return existsSync('results/latest/result.json') ? [...new Set(['results/latest', ...folders])] : folders;
}
