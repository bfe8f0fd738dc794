# For the scripts beside this one:  . "$(dirname "$0")/lib.sh"
# T is a folder of the test's own, removed at the end; R the roimeter program; B the build folder.
# A test prints "ok - sentence" or "not ok - sentence" and finish answers for all of them.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
B=${B:-build/release}
case $B in /*) ;; *) B=$TOP/$B ;; esac
R=$B/roimeter
# A test may ask for a folder in memory (IN_MEMORY=1); in some containers there is next to none.
if [ -n "${IN_MEMORY:-}" ] && [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -gt 500000 ]; then
	export TMPDIR=/dev/shm
fi
T=$(mktemp -d "${TMPDIR:-/tmp}/roimeter-test.XXXXXX")
BAD=0
export LC_ALL=C.UTF-8 XDG_DATA_HOME="$T/data" XDG_CONFIG_HOME="$T/config" XDG_STATE_HOME="$T/state"
# Profiled executions are the matter of few tests: of those that ask for them.
mkdir -p "$XDG_CONFIG_HOME/roimeter"
printf '[run]\ncollect = none\n' >"$XDG_CONFIG_HOME/roimeter/roimeter.ini"
# MPI as root in a container, where it asks to be told so, and on few CPUs.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

at_end() { :; } # a test may define its own
trap 'at_end; rm -rf "$T"' EXIT
trap 'exit 130' INT TERM

ok() { # SENTENCE COMMAND...   passes when the command does
	sentence=$1
	shift
	if "$@" >"$T/.log" 2>&1; then echo "ok - $sentence"; else
		echo "not ok - $sentence (exit $?: $*)"
		sed 's/^/# /' "$T/.log" | tail -n 30
		BAD=1
	fi
}

same() { # SENTENCE WANTED GOT
	if [ "$2" = "$3" ]; then echo "ok - $1"; else
		echo "not ok - $1"
		printf '# wanted: %s\n# got:    %s\n' "$2" "$3"
		BAD=1
	fi
}

answers() { # SENTENCE EXIT_CODE PATTERN COMMAND...   exit code and a pattern in what it prints
	sentence=$1 code=$2 pattern=$3
	shift 3
	"$@" >"$T/.log" 2>&1
	rc=$?
	if [ $rc -eq "$code" ] && grep -qE -e "$pattern" "$T/.log"; then echo "ok - $sentence"; else
		echo "not ok - $sentence (exit $rc, wanted $code and /$pattern/)"
		sed 's/^/# /' "$T/.log" | tail -n 30
		BAD=1
	fi
}

# A port that nobody has now, and that the kernel gives to no connection by itself: a server that is started anew
# has it still.
free_port() {
	"${PYTHON:-/usr/bin/python3}" -c '
import random, socket
low = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
ports = list(range(max(1024, low - 16000), low)) or [0]
random.shuffle(ports)
for port in ports:
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(s.getsockname()[1])
        break'
}

skip() { echo "ok - $1 # SKIP $2"; } # SENTENCE REASON

finish() { exit $BAD; }
