/**
 * The system-call filter of every Docker box, as the engine takes it. It takes the place of Docker's own profile, so it refuses all
 * that `../seccomp.ts` refuses and what Docker's own refuses on top of that to a container without capabilities.
 */
const denied = [
  // As in local boxes.
  ...[
    'uselib',
    'vhangup',
    'pivot_root',
    'chroot',
    'acct',
    'settimeofday',
    'mount',
    'umount',
    'umount2',
    'swapon',
    'swapoff',
  ],
  ...[
    'reboot',
    'iopl',
    'ioperm',
    'init_module',
    'delete_module',
    'quotactl',
    'quotactl_fd',
    'lookup_dcookie',
    'clock_settime',
  ],
  ...['clock_settime64', 'kexec_load', 'kexec_file_load', 'add_key', 'request_key', 'keyctl', 'unshare', 'setns'],
  ...['perf_event_open', 'fanotify_init', 'name_to_handle_at', 'open_by_handle_at', 'clock_adjtime', 'clock_adjtime64'],
  ...[
    'finit_module',
    'bpf',
    'userfaultfd',
    'io_uring_setup',
    'io_uring_enter',
    'io_uring_register',
    'open_tree',
    'move_mount',
  ],
  ...['fsopen', 'fsconfig', 'fsmount', 'fspick', 'mount_setattr', 'open_tree_attr'],
  // As in Docker's own.
  ...[
    'create_module',
    'get_kernel_syms',
    'query_module',
    'nfsservctl',
    'stime',
    '_sysctl',
    'sysfs',
    'ustat',
    'vm86',
    'vm86old',
  ],
  ...['adjtimex', 'syslog', 'sethostname', 'setdomainname', 'move_pages', 'mbind', 'set_mempolicy', 'get_mempolicy'],
  ...[
    'set_mempolicy_home_node',
    'migrate_pages',
    'kcmp',
    'process_madvise',
    'fanotify_mark',
    'bdflush',
    'pciconfig_iobase',
  ],
  ...['pciconfig_read', 'pciconfig_write'],
]

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97
const namespaceFlags = 0x7e020000
/** TIOCSTI and TIOCLINUX put text into a terminal. */
const terminalInjection = [0x5412, 0x541c]
/** Those that a box may open are unix 1, inet 2, inet6 10 and netlink 16. */
const familiesMax = 64
const allowedFamilies = [1, 2, 10, 16]

const architectures: Partial<Record<string, string>> = { x64: 'SCMP_ARCH_X86_64', arm64: 'SCMP_ARCH_AARCH64' }

interface Rule {
  names: string[]
  action: string
  errnoRet: number
  args?: { index: number; value: number; valueTwo?: number; op: string }[]
}

/** The profile as JSON; null where the architecture is not known (the provider then keeps to Docker's own, and says so). */
export function dockerSeccomp(architecture: string = process.arch): string | null {
  const native = architectures[architecture]
  if (native === undefined) return null
  const refuse = (names: string[], errnoRet: number, args?: Rule['args']): Rule => ({
    names,
    action: 'SCMP_ACT_ERRNO',
    errnoRet,
    ...(args === undefined ? {} : { args }),
  })
  const families = Array.from({ length: familiesMax }, (_, family) => family)
  const rules: Rule[] = [
    refuse(denied, EPERM),
    // Its flags lie in memory, out of reach of a filter; callers fall back to clone.
    refuse(['clone3'], ENOSYS),
    ...namespaceBits().map((bit) =>
      refuse(['clone'], EPERM, [{ index: 0, value: bit, valueTwo: bit, op: 'SCMP_CMP_MASKED_EQ' }]),
    ),
    ...terminalInjection.map((request) =>
      refuse(['ioctl'], EPERM, [{ index: 1, value: 0xffffffff, valueTwo: request, op: 'SCMP_CMP_MASKED_EQ' }]),
    ),
    ...families
      .filter((family) => !allowedFamilies.includes(family))
      .map((value) =>
        refuse(['socket'], EAFNOSUPPORT, [{ index: 0, value: 0xffffffff, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }]),
      ),
    refuse(['socket'], EAFNOSUPPORT, [{ index: 0, value: familiesMax, op: 'SCMP_CMP_GE' }]),
  ]
  return JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', architectures: [native], syscalls: rules })
}

/** A filter compares under one mask at a time: one rule for each flag that asks for a new namespace. */
function namespaceBits(): number[] {
  return Array.from({ length: 31 }, (_, index) => 2 ** index).filter((bit) => (namespaceFlags & bit) !== 0)
}
