/** Reads the result document of a run, perhaps written by another version. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { CapacityError } from '../protocol/errors.ts';
import { formatPath } from '../protocol/problems.ts';
import { type Result, resultSchema } from '../protocol/result/result.ts';
import { perConnectionOf } from './figures/per-connection.ts';

/** A document of a different kind would have every problem. */
const PROBLEMS_SHOWN = 5;
const SCHEMA_VERSION = resultSchema.shape.schemaVersion.value;

/**
 * @param path of a result.json, or of the folder of a run
 * @throws CapacityError FILE_UNREADABLE, RESULT_TOO_NEW; the message names the
 * file and any offending keys
 */
export function readResult(path: string): Result {
  const { file, text } = readText(path);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new CapacityError(
      'FILE_UNREADABLE',
      `${file} is not complete JSON`,
      'copy it again from the folder of its run, or repeat the run',
      { cause },
    );
  }
  return parseResult(document, file);
}

/** @param name of the document, for readers */
function parseResult(document: unknown, name: string): Result {
  const version = (document as { schemaVersion?: unknown } | null)?.schemaVersion;
  if (typeof version === 'number' && version > SCHEMA_VERSION) {
    throw tooNew(`${name} has schemaVersion ${version}, but this version reads only ${SCHEMA_VERSION}`);
  }
  dropUnused(document);
  const parsed = resultSchema.safeParse(version === 2 ? upgraded(document as Version2) : document);
  if (parsed.success) return version === 2 ? withHeadline(parsed.data) : parsed.data;
  const { issues } = parsed.error;
  // All that an earlier version wrote is known, or dropped above.
  if (issues.every(({ code }) => code === 'unrecognized_keys')) {
    throw tooNew(`${name} has keys that this version does not know:\n${listed(issues)}`);
  }
  throw new CapacityError(
    'FILE_UNREADABLE',
    `${name} is not a result document of this version:\n${listed(issues)}`,
    'name the result.json of a run; read one from an older version with that version',
  );
}

/** Keys that earlier versions wrote, although nobody read them, by the path of the part of the document that has them. */
const DROPPED: Record<string, string[]> = {
  connections: ['perServer'],
  latency: ['byConnections'],
  memory: ['afterBroadcastsBytes', 'collectionsCounted', 'derivedPeaks'],
  redis: ['clientBytes', 'patterns'],
  workers: ['tasksLimit'],
  workerMachines: ['tcpSockets'],
  generators: ['memory'],
  'latency.roundTripHalfMs': ['eachMs', 'publishers'],
  'machine.others': ['overTime'],
  'machine.others.windows': ['unaccountedCores', 'pressurePercent', 'meanMhz'],
  capacity: ['seedTheoreticalMax'],
};

function dropUnused(document: unknown): void {
  for (const [path, keys] of Object.entries(DROPPED)) {
    const found = path
      .split('.')
      .reduce<unknown>((part, key) => (part as Record<string, unknown> | null)?.[key], document);
    for (const one of [found].flat()) {
      if (typeof one !== 'object' || one === null) continue;
      for (const key of keys) delete (one as Record<string, unknown>)[key];
    }
  }
}

interface Version2 {
  memory?: Record<'perConnectionBytes' | 'inService', unknown>;
}

/** Version 2 had doubts of noise, which the interval tells, and two words for memory that was freed. */
function upgraded(document: Version2): unknown {
  const withDoubts = (slopes: unknown) =>
    Object.values((slopes ?? {}) as Record<string, { doubt?: string }>).forEach((slope) => {
      if (slope.doubt === 'falling') slope.doubt = 'freed';
      else if (slope.doubt !== undefined && ['fewPlateaus', 'noRise', 'wide'].includes(slope.doubt)) delete slope.doubt;
    });
  withDoubts(document.memory?.perConnectionBytes);
  withDoubts((document.memory?.inService as { perConnectionBytes?: unknown } | null)?.perConnectionBytes);
  return { ...document, schemaVersion: SCHEMA_VERSION };
}

function withHeadline(result: Result): Result {
  return { ...result, memory: { ...result.memory, perConnection: perConnectionOf(result) } };
}

function readText(path: string): { file: string; text: string } {
  let file = path;
  try {
    if (statSync(path).isDirectory()) file = join(path, 'result.json');
    return { file, text: readFileSync(file, 'utf8') };
  } catch (cause) {
    throw new CapacityError(
      'FILE_UNREADABLE',
      `cannot read ${file}`,
      'name a result.json or the folder of a run, such as results/latest',
      { cause },
    );
  }
}

function tooNew(message: string): CapacityError {
  return new CapacityError('RESULT_TOO_NEW', message);
}

function listed(issues: z.core.$ZodIssue[]): string {
  const lines = issues.flatMap((issue) => {
    const path = issue.path as (string | number)[];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${formatPath([...path, key])}: unknown`);
    return [`${formatPath(path) || 'the document'}: ${issue.message.replace(/^Invalid input: /, '')}`];
  });
  const more = lines.length - PROBLEMS_SHOWN;
  return [...lines.slice(0, PROBLEMS_SHOWN), ...(more > 0 ? [`and ${more} more`] : [])]
    .map((line) => `  ${line}`)
    .join('\n');
}
