/** Describes the keys of a zod schema by means of JSON Schema: path, values, default, meaning. */
import { z } from 'zod';

/** Parts of a JSON Schema that the reference shows. `unit` is from zod's `meta`. */
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

export interface Key {
  /** Path of the key. `[]` stands for a list, and `*` for any key. */
  path: string;
  node: Node;
  isRequired: boolean;
  children: Key[];
}

/** Row of a table: a key, or several keys with a common description. */
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
      // If `describe` was called before `nullable`, JSON Schema has the description only in the inner schema.
      const [inner] = jsonSchema.anyOf ?? [];
      if (def.type === 'nullable' && typeof inner === 'object') jsonSchema.description ??= inner.description;
      // JSON Schema omits the default of transformed values.
      if (def.type === 'default') jsonSchema.default = (def as z.core.$ZodDefaultDef).defaultValue;
    },
  }) as Node;
}

/** Returns the keys of an object, including keys inside lists, unions and records. Shapes with an id are excluded. */
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
    ...[...anyOf, ...prefixItems].flatMap((inner) => keysOf(inner, at)),
  ];
  // Removes repeated keys: a value and a list of such values have the same keys.
  return [...new Map(all.toReversed().map((key) => [key.path.replaceAll('[]', ''), key])).values()].toReversed();
}

/** Returns a key without its own keys, if it has a description, which covers them. */
export function shallow(key: Key): Key {
  return { ...key, children: key.node.description === undefined ? key.children.map(shallow) : [] };
}

/** Minimum number of keys that share a row if they were already described. */
const MIN_SHARED_ROW = 2;

/**
 * @param seen keys that are already described, each with a text that says where; they are not described again
 * @throws Error for a key without a description
 */
export function describedKeys(keys: Key[], seen: Map<string, string>): Described[] {
  const known = keys.filter((key) => seen.has(signatureOf(key)));
  const again = known.length >= MIN_SHARED_ROW ? known : [];
  const rows = keys.filter((key) => !again.includes(key)).flatMap((key) => describedKey(key, seen));
  const [first] = again;
  if (!first) return rows;
  const [at = ''] = /^.*\./.exec(first.path) ?? [];
  const paths = `${at === '' ? '' : `\`${at.slice(0, -1)}\`: `}${namesAfter(at.length, again)}`;
  return [...rows, { paths, node: {}, isRequired: false, text: seen.get(signatureOf(first)) ?? '' }];
}

function describedKey(key: Key, seen: Map<string, string>): Described[] {
  const { path, node, isRequired, children } = key;
  const named = children.filter(isDescribed);
  if (node.description === undefined) {
    if (named.length === 0) throw new Error(`describe ${path} where it is defined: .describe('…')`);
    return describedKeys(children, seen);
  }
  seen.set(signatureOf(key), 'as above');
  // Keys without a description, which the description of their parent covers.
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

/** Identifies a key by its name and description. */
export function signatureOf({ path, node }: Key): string {
  return `${path.split('.').at(-1)} ${node.description}`;
}

/** Describes the possible values in a few words. Empty for an object whose keys are described. */
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

/** Returns the default in YAML. Empty if there is none, or if the nested keys have defaults. */
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
