/** What a zod schema says of its keys, walked as JSON Schema: path, values, default, meaning. */
import { z } from 'zod';

/** The parts of a JSON Schema that the reference shows. `unit` is from zod's `meta`. */
export interface Node extends Pick<Schema, Plain> {
  unit?: string;
  $defs?: Record<string, Node>;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  items?: Node;
  prefixItems?: Node[];
  anyOf?: Node[];
}

type Schema = z.core.JSONSchema.BaseSchema;
type Plain = '$ref' | 'const' | 'default' | 'description' | 'enum' | 'format' | 'required' | 'type' | Range;
type Range = 'minimum' | 'maximum' | 'exclusiveMinimum';

interface Key {
  /** With `[]` for a list and `*` for any key. */
  path: string;
  node: Node;
  isRequired: boolean;
  children: Key[];
}

/** A row of a table: one key, or several that are described together. */
interface Described extends Pick<Key, 'node' | 'isRequired'> {
  paths: string;
  text: string;
}

export function nodeOf(schema: z.ZodType): Node {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === 'pipe' && (def as z.core.$ZodPipeDef).out._zod.def.type === 'boolean')
        jsonSchema.unit = 'switch';
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
  const keys = Object.entries(node.properties ?? {}).map(([name, inner]) => {
    const path = at === '' ? name : `${at}.${name}`;
    return { path, node: inner, isRequired: node.required?.includes(name) ?? false, children: keysOf(inner, path) };
  });
  const { additionalProperties: any, items, anyOf = [], prefixItems = [] } = node;
  const all = [
    ...keys,
    ...(typeof any === 'object' && keys.length === 0 ? keysOf(any, `${at}.*`) : []),
    ...(items ? keysOf(items, at.endsWith('[]') ? at : `${at}[]`) : []),
    ...[...anyOf, ...prefixItems].flatMap((one) => keysOf(one, at)),
  ];
  // One of a kind, or a list of them: the same keys.
  return [...new Map(all.toReversed().map((key) => [key.path.replaceAll('[]', ''), key])).values()].toReversed();
}

/** Keys that are worth one row for all of them together. */
const MANY = 2;

/**
 * @param seen what the page has described: a key that means the same elsewhere is not described again
 * @throws for a key that nobody has described
 */
export function describedKeys(keys: Key[], seen: Set<string>): Described[] {
  const known = keys.filter((key) => seen.has(signatureOf(key)));
  const again = known.length >= MANY ? known : [];
  const rows = keys.filter((key) => !again.includes(key)).flatMap((key) => describedKey(key, seen));
  if (again.length === 0) return rows;
  const [at = ''] = /^.*\./.exec(again[0]?.path ?? '') ?? [];
  const paths = `${at === '' ? '' : `\`${at.slice(0, -1)}\`: `}${namesAfter(at.length, again)}`;
  return [...rows, { paths, node: {}, isRequired: false, text: 'as above' }];
}

function describedKey(key: Key, seen: Set<string>): Described[] {
  const { path, node, isRequired, children } = key;
  const named = children.filter(isDescribed);
  if (node.description === undefined) {
    if (named.length === 0) throw new Error(`describe ${path} where it is defined: .describe('…')`);
    return describedKeys(children, seen);
  }
  seen.add(signatureOf(key));
  // Keys without a description are explained by that of their parent.
  const bare = children.filter((child) => !isDescribed(child)).flatMap(leavesOf);
  const areKnown = named.length > 0 && named.every((child) => seen.has(signatureOf(child)));
  const row = {
    paths: bare.length > 0 ? `\`${path}\`: ${namesAfter(path.length, bare)}` : `\`${path}\``,
    text: areKnown ? `${node.description}; the same keys` : node.description,
  };
  return [{ ...row, node, isRequired }, ...(areKnown ? [] : describedKeys(named, seen))];
}

function namesAfter(length: number, keys: Key[]): string {
  return keys.map(({ path }) => `\`${path.slice(length).replace(/^(\.\*|\[\])?\.?/, '')}\``).join(', ');
}

function isDescribed({ node, children }: Key): boolean {
  return node.description !== undefined || children.some(isDescribed);
}

function leavesOf(key: Key): Key[] {
  return key.children.length === 0 ? [key] : key.children.flatMap(leavesOf);
}

function signatureOf({ path, node }: Key): string {
  return `${path.split('.').at(-1)} ${node.description}`;
}

/** @returns what a value can be, in a few words; '' where the keys inside of it say so */
export function valuesOf(node: Node): string {
  const id = node.$ref?.split('/').at(-1);
  if (id) return `[${id}](#${id.toLowerCase()})`;
  if (node.unit === 'duration') return 'duration';
  if (node.unit === 'switch') return '`on`, `off`';
  if (node.const !== undefined) return `\`${node.const}\``;
  if (node.enum) return node.enum.map((value) => `\`${value}\``).join(', ');
  const kinds = node.anyOf ? node.anyOf.map(valuesOf) : [node.type ?? []].flat().map((type) => kindOf(type, node));
  return [...new Set(kinds)].filter((text) => text !== '').join(' or ');
}

function kindOf(type: string, node: Node): string {
  const { format, items, properties, additionalProperties: any } = node;
  switch (type) {
    case 'string':
      return format === 'uri' ? 'URL' : 'text';
    case 'number':
    case 'integer':
      return rangeOf(node);
    case 'array':
      return items?.enum ? `list of ${valuesOf(items)}` : 'list';
    case 'object':
      return properties || typeof any !== 'object' || any.properties ? '' : 'map';
    case 'null':
      return '`null`';
    default:
      return type;
  }
}

function rangeOf({ type, minimum, exclusiveMinimum, maximum = Infinity }: Node): string {
  const least = exclusiveMinimum === 0 && type === 'integer' ? 1 : minimum;
  if (least !== undefined && least > -Number.MAX_SAFE_INTEGER) {
    return maximum < Number.MAX_SAFE_INTEGER ? `${number(least)}–${number(maximum)}` : `≥ ${number(least)}`;
  }
  return exclusiveMinimum === 0 ? '> 0' : 'number';
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
