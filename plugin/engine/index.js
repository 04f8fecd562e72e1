import './node-version.js';

// In a checkout Node strips the types; under node_modules it refuses to, so an installed package runs what tsc made of it.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/engine/engine.js' : './engine.ts';
export default (await import(entry)).default;
