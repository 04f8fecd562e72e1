/** Version of the three packages, which are released together; checked by `test/unit/protocol/version.test.ts`. */
export const VERSION = '0.1.0';
