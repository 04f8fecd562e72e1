/** What a zod schema says of its keys: path, description, values, default. */
import { z } from 'zod';

/** The parts of a JSON Schema that the reference shows. `unit` is from zod's `meta`. */
export interface Node {
  $ref?: string;
  $defs?: Record<string, Node>;
  description?: string;
  unit?: string;
  default?: unknown;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: Node | boolean;
  items?: Node;
  prefixItems?: Node[];
  anyOf?: Node[];
  /** A key that is refused, with a hint. */
  refused?: boolean;
}

export interface Key {
  /** With `[]` for a list and `*` for any key. */
  path: string;
  node: Node;
  isRequired: boolean;
  children: Key[];
}

export function nodeOf(schema: z.ZodType): Node {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'undefined') jsonSchema.refused = true;
      if (def.type === 'pipe' && isBoolean((def as z.core.$ZodPipeDef).out)) jsonSchema.unit = 'switch';
      // Described before it became nullable: JSON Schema leaves that to the inner schema.
      const [inner] = jsonSchema.anyOf ?? [];
      if (def.type === 'nullable' && typeof inner === 'object') jsonSchema.description ??= inner.description;
      // JSON Schema leaves out the default of what is transformed.
      if (def.type === 'default') jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue;
    },
  }) as Node;
}

/** @returns the keys of an object, also inside of lists, unions and records; what has an id of its own is not entered */
export function keysOf(node: Node, at = ''): Key[] {
  if (node.$ref) return [];
  const own = Object.entries(node.properties ?? {}).filter(([, { refused }]) => !refused);
  const keys = own.map(([name, inner]) => {
    const path = at === '' ? name : `${at}.${name}`;
    return { path, node: inner, isRequired: node.required?.includes(name) ?? false, children: keysOf(inner, path) };
  });
  const { additionalProperties: any, items, anyOf = [], prefixItems = [] } = node;
  return [
    ...keys,
    ...(typeof any === 'object' && keys.length === 0 ? keysOf(any, `${at}.*`) : []),
    ...(items ? keysOf(items, at.endsWith('[]') ? at : `${at}[]`) : []),
    ...[...anyOf, ...prefixItems].flatMap((one) => keysOf(one, at)),
  ].filter(({ path }, index, all) => all.findIndex((one) => sameKey(one.path) === sameKey(path)) === index);
}

/** One of a kind, or a list of them: the same keys. */
function sameKey(path: string): string {
  return path.replaceAll('[]', '');
}

/** As `on` or `off`. */
function isBoolean({ _zod: { def } }: z.core.$ZodType): boolean {
  return def.type === 'boolean';
}

/** @returns what a value can be, in a few words; '' where the keys inside of it say so */
export function valuesOf(node: Node): string {
  if (node.$ref) return `[${node.$ref.split('/').at(-1)}](#${node.$ref.split('/').at(-1)?.toLowerCase()})`;
  if (node.unit === 'duration') return 'duration';
  if (node.unit === 'switch') return '`on`, `off`';
  if (node.const !== undefined) return `\`${node.const}\``;
  if (node.enum) return node.enum.map((value) => `\`${value}\``).join(', ');
  if (node.anyOf) return [...new Set(node.anyOf.map(valuesOf))].filter((text) => text !== '').join(' or ');
  return [node.type ?? []]
    .flat()
    .map((type) => TYPES[type]?.(node) ?? type)
    .filter((text) => text !== '')
    .join(' or ');
}

const TYPES: Record<string, (node: Node) => string> = {
  string: ({ format }) => (format === 'uri' ? 'URL' : 'text'),
  boolean: () => 'boolean',
  number: rangeOf,
  integer: rangeOf,
  array: ({ items }) => (items?.enum ? `list of ${valuesOf(items)}` : 'list'),
  object: ({ properties, additionalProperties }) =>
    properties || typeof additionalProperties !== 'object' || additionalProperties.properties ? '' : 'map',
  null: () => '`null`',
};

function rangeOf({ type, minimum, exclusiveMinimum, maximum = Infinity }: Node): string {
  const isWhole = type === 'integer';
  const least = exclusiveMinimum === 0 && isWhole ? 1 : minimum;
  const hasMost = maximum < Number.MAX_SAFE_INTEGER;
  if (least !== undefined && least > -Number.MAX_SAFE_INTEGER) {
    return hasMost ? `${number(least)}–${number(maximum)}` : `≥ ${number(least)}`;
  }
  if (exclusiveMinimum === 0) return '> 0';
  return 'number';
}

/** @returns as it is written in YAML; '' without a default, or with one that the keys inside of it have */
export function defaultOf({ default: value, unit }: Node): string {
  if (value === undefined || value === null || value === '') return '';
  if (unit === 'duration') return `${Number(value) / 1000} s`;
  if (typeof value === 'number') return number(value);
  if (Array.isArray(value)) return `\`[${value.join(', ')}]\``;
  return typeof value === 'object' ? '' : `\`${value}\``;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
