/** Starts Artillery with arguments from standard input: every user of a machine can read command lines. */
import { readFileSync } from 'node:fs';
import Module from 'node:module';

/** Path of the program, then its arguments. */
const line = JSON.parse(readFileSync(0, 'utf8')) as string[];
process.argv.splice(1, process.argv.length, ...line);
Module.runMain();
