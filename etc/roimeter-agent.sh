# /etc/profile.d/roimeter-agent.sh: ambient mode for all who log in where an agent runs.
if [ -S /run/roimeter-agent/agent.sock ] && [ -z "${ROIMETER_AGENT:-}" ]; then
	export ROIMETER_AGENT=/run/roimeter-agent/agent.sock
fi
