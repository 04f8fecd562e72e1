/** `npx socketio-capacity`: one file per command. */
import { Command } from 'commander';
import { addBaseline } from './baseline.ts';
import { addCompare } from './compare.ts';
import { addDoctor } from './doctor.ts';
import { addInit } from './init.ts';
import { addRepeat } from './repeat.ts';
import { addReport } from './report.ts';
import { addSearch } from './search.ts';
import { addStack } from './stack.ts';
import { addStudy } from './study.ts';

/** A program that throws where commander would end the process. */
export function createProgram(): Command {
  const program = new Command('npx socketio-capacity')
    .description(
      'Measures how many Socket.IO connections a deployment holds, what each one costs, and whether every broadcast arrived.',
    )
    .addHelpText(
      'after',
      '\nA first run: npx artillery run scenarios/smoke.yml\nHelp for a command: npx socketio-capacity doctor --help',
    )
    .showHelpAfterError('(see --help)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [addInit, addDoctor, addRepeat, addStudy, addSearch, addCompare, addBaseline, addReport, addStack])
    add(program);
  return program;
}
