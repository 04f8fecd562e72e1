/** Version of the three packages, which are released together; `test/unit/protocol/version.test.ts` compares it with theirs. */
export const VERSION = '0.1.0';
