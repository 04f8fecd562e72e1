/** Figures of the result document. They are found by a walk through its schema. */
import type { z } from 'zod';
import { type FigureDeclaration, figureDeclarationOf } from './figure.ts';
import { generatorSchema } from './machine-schema.ts';
import { resultSchema } from './result.ts';
import { sampleSchema } from './samples.ts';

/** Placeholder in a key. It stands for any name, such as the name of a layer. */
export const ANY_NAME = '<name>';

export interface DeclaredFigure extends FigureDeclaration {
  /** Key of the figure: `memory.perConnectionBytes.<name>.slope`. */
  path: string;
  description: string;
  kind: 'number' | 'counts' | 'distribution';
}

/** Key of the result document, with its type and its figure. */
interface Place {
  path: string;
  type: string;
  figure?: DeclaredFigure;
}

interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  innerType?: z.ZodType;
  valueType?: z.ZodType;
}

/** All keys of the result document that are not in lists, in order. */
export const RESULT_KEYS: readonly Place[] = walk(resultSchema, []);

/** Keys in lists that the live view shows: keys of the newest sample, and of the generator's event loops. */
const LIVE_PLACES = [...walk(sampleSchema, ['samples']), ...walk(generatorSchema.element, ['generator'])];

export const DECLARED_FIGURES: readonly DeclaredFigure[] = [...RESULT_KEYS, ...LIVE_PLACES].flatMap(
  ({ figure }) => figure ?? [],
);

function walk(schema: z.ZodType, at: string[]): Place[] {
  const { type, shape = {}, catchall, innerType, valueType } = schema._zod.def as unknown as Def;
  const inner = innerType ? walk(innerType, at) : [];
  const below = [
    ...Object.entries(shape).flatMap(([key, value]) => walk(value, [...at, key])),
    ...[catchall, valueType].flatMap((value) => (value ? walk(value, [...at, ANY_NAME]) : [])),
  ];
  const path = at.join('.');
  const declaration = figureDeclarationOf(schema);
  const own: Place = { path, type: 'p50' in shape ? 'distribution' : type, ...inner[0] };
  if (declaration) own.figure = { ...declaration, path, description: schema.description ?? '', kind: kindOf(own.type) };
  return innerType ? [own, ...inner.slice(1)] : [own, ...below];
}

function kindOf(type: string): DeclaredFigure['kind'] {
  return type === 'number' || type === 'distribution' ? type : 'counts';
}

/** Returns the first and the last part of a key, such as `memory` and `slope`. */
export function firstAndLastKey(path: string): [first: string, last: string] {
  const keys = path.split('.');
  return [keys[0] as string, keys.at(-1) as string];
}

/**
 * Matches a key with a pattern, in which `<name>` stands for any part.
 * @returns the part that matches `<name>`; empty if the pattern has no placeholder; undefined without a match
 */
export function matchKey(pattern: string, path: string): string | undefined {
  const [known, given] = [pattern.split('.'), path.split('.')];
  if (known.length !== given.length || !known.every((key, at) => key === given[at] || (key === ANY_NAME && given[at])))
    return undefined;
  return given[known.indexOf(ANY_NAME)] ?? '';
}

/** Figures by the parts of their keys. The tree makes lookups fast, because comparisons look up thousands of keys. */
interface FigureTree {
  figure?: DeclaredFigure;
  below: Map<string, FigureTree>;
}

const TREE: FigureTree = { below: new Map() };
for (const figure of DECLARED_FIGURES) {
  let tree = TREE;
  for (const key of figure.path.split('.')) {
    const next = tree.below.get(key) ?? { below: new Map() };
    tree.below.set(key, next);
    tree = next;
  }
  tree.figure ??= figure;
}

/**
 * Returns the figure at a key. `name` is the part of the key that matches `<name>` or follows the figure, such as a
 * layer or a percentile.
 */
export function declaredFigureAt(path: string): { figure: DeclaredFigure; name: string } | undefined {
  return figureBelow(TREE, path.split('.'), '');
}

function figureBelow(
  { figure, below }: FigureTree,
  [key, ...keys]: string[],
  name: string,
): { figure: DeclaredFigure; name: string } | undefined {
  if (key === undefined) return figure && { figure, name };
  const exact = below.get(key);
  const any = key === '' ? undefined : below.get(ANY_NAME);
  return (
    (exact && figureBelow(exact, keys, name)) ??
    (any && figureBelow(any, keys, name || key)) ??
    (figure && figure.kind !== 'number' && keys.length === 0 ? { figure, name: key } : undefined)
  );
}

/** Units of the numbers in the result document. The unit of a count or a rate is the figure's noun. */
const UNITS: Partial<Record<DeclaredFigure['quantity'], string>> = {
  kilobytes: 'bytes',
  megabytes: 'bytes',
  size: 'bytes',
  bytes: 'bytes',
  milliseconds: 'ms',
  seconds: 's',
  cpuSeconds: 's',
  microseconds: 'µs',
  percent: '%',
  share: '0 to 1',
};

/** Returns the unit of a figure: `bytes`, `ms`, `receipts`, `connections/s`. */
export function figureUnit({ quantity, noun = '' }: DeclaredFigure): string {
  return UNITS[quantity] ?? (quantity === 'perSecond' ? `${noun}/s` : noun);
}
