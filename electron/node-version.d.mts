export function nodeProblem(version: string, wanted: string): string | null
export function requireNode(): void
