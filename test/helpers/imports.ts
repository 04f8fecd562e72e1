/** Which file imports which, read by a parser: re-exports, type-only and dynamic imports are among them. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { ROOT } from './pages.ts';

interface Import {
  /** Path of the imported file from the root of the repository. */
  target: string;
  /** Gone when the code runs. `import {type A}` is not: Node still loads the file. */
  typeOnly: boolean;
  /** `import()`: loaded when it is needed. */
  dynamic: boolean;
}

/**
 * @param folders from the root of the repository
 * @returns every TypeScript file in them, by its path from the root, with its relative imports in order
 */
export function readImports(folders: string[]): Map<string, Import[]> {
  const paths = globSync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT, exclude: (name) => name.includes('node_modules') || name.endsWith('/dist') },
  );
  return new Map(paths.sort().map((path) => [path, importsOf(path, readFileSync(join(ROOT, path), 'utf8'))]));
}

/**
 * @param path of the file, which relative imports start from
 * @throws Error for text that does not parse
 */
export function importsOf(path: string, text: string): Import[] {
  return specifiersOf(path, text)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, ...kind }) => ({ target: posix.join(posix.dirname(path), specifier), ...kind }));
}

/**
 * @returns what the file imports, as it is written there: relative paths, and names of packages
 * @throws Error for text that does not parse
 */
export function specifiersOf(path: string, text: string): { specifier: string; typeOnly: boolean; dynamic: boolean }[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const found: ReturnType<typeof specifiersOf> = [];
  const add = (specifier: unknown, typeOnly: boolean, dynamic = false) => {
    if (typeof specifier === 'string') found.push({ specifier, typeOnly, dynamic });
  };
  new Visitor({
    ImportDeclaration: ({ source, importKind }) => add(source.value, importKind === 'type'),
    ExportNamedDeclaration: ({ source, exportKind }) => add(source?.value, exportKind === 'type'),
    ExportAllDeclaration: ({ source, exportKind }) => add(source.value, exportKind === 'type'),
    ImportExpression: ({ source }) => add('value' in source && source.value, false, true),
    TSImportType: ({ source }) => add(source.value, true),
  }).visit(program);
  return found;
}

/** @returns nodes of a cycle in their order, the first one again at the end; undefined if there is none */
export function findCycle(graph: Map<string, Iterable<string>>): string[] | undefined {
  const finished = new Set<string>();
  const visit = (node: string, way: string[]): string[] | undefined => {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node];
    if (finished.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...way, node]);
      if (cycle) return cycle;
    }
    finished.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return undefined;
}
