/* The commands of roimeter. Each has one file, cmd_NAME.c, and one line in cli/main.c. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

int cmd_run(int argc, char **argv);
int cmd_capture(int argc, char **argv);
int cmd_runs(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_conformance(int argc, char **argv);
int cmd_platform(int argc, char **argv);
int cmd_period(int argc, char **argv);
int cmd_log(int argc, char **argv);
int cmd_agent_status(int argc, char **argv);

#endif
