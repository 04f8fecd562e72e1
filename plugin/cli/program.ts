/** `npx socketio-capacity`: one file per command. */
import { Command } from 'commander';
import { addBaseline } from './baseline.ts';
import { addCompare } from './compare.ts';
import { addDoctor } from './doctor.ts';
import { addInit } from './init.ts';
import { addRepeat } from './repeat.ts';
import { addReport } from './report.ts';
import { addStack } from './stack.ts';

/** A program that throws where commander would end the process. */
export function createProgram(): Command {
  const program = new Command('npx socketio-capacity')
    .description(
      'How many Socket.IO connections a deployment holds, what each costs, and whether every broadcast arrived.',
    )
    .addHelpText(
      'after',
      '\nA first run: npx artillery run scenarios/smoke.yml\nA command’s own help: npx socketio-capacity doctor --help',
    )
    .showHelpAfterError('(--help tells more)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [addInit, addDoctor, addRepeat, addCompare, addBaseline, addReport, addStack]) add(program);
  return program;
}
