/** A different SHA-256 for each number, as it were. */
export const hash = (n: number): string => (n * 2654435761).toString(16).padStart(8, '0').slice(-8).repeat(8)
