import './node-version.js';

// In a checkout, Node strips the types. It refuses to do so under node_modules, so an installed package runs compiled code.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/hook/plugin.js' : './plugin.ts';
const { Plugin } = await import(entry);

export { Plugin };
/** Makes Artillery pass its own metric objects, not the wrapper of version 1. */
export const LEGACY_METRICS_FORMAT = false;
