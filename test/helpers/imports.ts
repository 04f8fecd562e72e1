/** Reads imports between files with a parser. Includes re-exports, type-only imports and dynamic imports. */
import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { ROOT } from './pages.ts';

/** Folders that CONTRIBUTING.md describes. */
const SOURCE_FOLDERS = ['protocol', 'plugin', 'report', 'server'];

/** An import. The paths of both files are relative to the root of the repository. */
export interface Import {
  from: string;
  to: string;
}

/** @returns the source files with one of these endings, by path from the root of the repository */
export function sourceFiles(endings: string): string[] {
  return globSync(`{${SOURCE_FOLDERS.join()}}/**/*.${endings}`, {
    cwd: ROOT,
    exclude: (name) => name.includes('node_modules') || name.endsWith('/dist'),
  });
}

/** @returns the relative imports in this text of a file */
export function importsOf(from: string, text: string): Import[] {
  return specifiersOf(from, text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => ({ from, to: posix.join(posix.dirname(from), specifier) }));
}

export function readImports(): Import[] {
  return sourceFiles('ts').flatMap((path) => importsOf(path, readFileSync(join(ROOT, path), 'utf8')));
}

/**
 * @returns the specifiers of a file's imports: relative paths, and names of packages
 * @throws Error if the text does not parse
 */
export function specifiersOf(path: string, text: string): string[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`);
  const found: string[] = [];
  const add = (source: unknown) => {
    const value = (source as { value?: unknown } | null)?.value;
    if (typeof value === 'string') found.push(value);
  };
  new Visitor({
    ImportDeclaration: ({ source }) => add(source),
    ExportNamedDeclaration: ({ source }) => add(source),
    ExportAllDeclaration: ({ source }) => add(source),
    ImportExpression: ({ source }) => add(source),
    TSImportType: ({ source }) => add(source),
  }).visit(program);
  return found;
}

/** @returns the imports that are in a cycle, or between two cycles */
export function inCycles<Edge extends Import>(imports: Edge[]): Edge[] {
  const [importing, imported] = [new Set(imports.map(({ from }) => from)), new Set(imports.map(({ to }) => to))];
  const remaining = imports.filter(({ from, to }) => importing.has(to) && imported.has(from));
  return remaining.length === imports.length ? remaining : inCycles(remaining);
}
