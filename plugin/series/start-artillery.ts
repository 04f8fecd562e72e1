/** Starts Artillery with arguments from standard input, because all users of a machine can read command lines. */
import { readFileSync } from 'node:fs';
import Module from 'node:module';

/** Path of the Node program to start, followed by its arguments. */
const commandLine = JSON.parse(readFileSync(0, 'utf8')) as string[];
process.argv.splice(1, process.argv.length, ...commandLine);
Module.runMain();
