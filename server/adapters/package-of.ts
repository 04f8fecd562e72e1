import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** @returns name and version of an installed package */
export function packageOf(name: string): string {
  return `${name} ${require(`${name}/package.json`).version}`;
}
