import './node-version.js';

// In a checkout Node strips the types; under node_modules it refuses to, so an installed package runs what tsc made of it.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/hook/plugin.js' : './plugin.ts';
const { Plugin } = await import(entry);

export { Plugin };
/** Tells Artillery to hand over its own metric objects, not the wrapper of version 1. */
export const LEGACY_METRICS_FORMAT = false;
