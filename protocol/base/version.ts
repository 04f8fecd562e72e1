/** Version of the three packages. They are released together. `test/unit/protocol/version.test.ts` checks it. */
export const VERSION = '0.1.0';
