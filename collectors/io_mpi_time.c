/* Calls of MPI that are only timed, by what they are for. Not here: what only looks something up
 * (MPI_Comm_rank, MPI_Wtime, MPI_Get_count, attributes, names, info): it takes next to no time, and
 * MPI_Initialized is what programs look for to see whether there is an MPI at all. What MPI 5 and
 * later bring is not here either. XC: the function is there once more for large counts, as NAME_c.
 */
#include "collectors/io_mpi.h"

#include "collectors/live.h"

/* clang-format off */
#define MPI_POINT_TO_POINT(X, XC)                                                               \
	XC(Bsend, 6) XC(Bsend_init, 7) XC(Ibsend, 7) XC(Imrecv, 5) XC(Irecv, 7)                 \
	XC(Irsend, 7) XC(Isend, 7) XC(Isendrecv, 12) XC(Isendrecv_replace, 9)                   \
	XC(Issend, 7) XC(Mrecv, 5) X(Pready, 2) X(Pready_list, 3) X(Pready_range, 3)            \
	X(Precv_init, 9) X(Psend_init, 9) XC(Recv, 7) XC(Recv_init, 7) XC(Rsend, 6)             \
	XC(Rsend_init, 7) XC(Send, 6) XC(Send_init, 7) XC(Sendrecv, 12)                         \
	XC(Sendrecv_replace, 9) XC(Ssend, 6) XC(Ssend_init, 7) X(Start, 1)                      \
	X(Startall, 2)
#define MPI_COLLECTIVE(X, XC)                                                                   \
	XC(Allgather, 7) XC(Allgather_init, 9) XC(Allgatherv, 8)                                \
	XC(Allgatherv_init, 10) XC(Allreduce, 6) XC(Allreduce_init, 8)                          \
	XC(Alltoall, 7) XC(Alltoall_init, 9) XC(Alltoallv, 9) XC(Alltoallv_init, 11)            \
	XC(Alltoallw, 9) XC(Alltoallw_init, 11) X(Barrier, 1) X(Barrier_init, 3)                \
	XC(Bcast, 5) XC(Bcast_init, 7) XC(Exscan, 6) XC(Exscan_init, 8) XC(Gather, 8)           \
	XC(Gather_init, 10) XC(Gatherv, 9) XC(Gatherv_init, 11) XC(Iallgather, 8)               \
	XC(Iallgatherv, 9) XC(Iallreduce, 7) XC(Ialltoall, 8) XC(Ialltoallv, 10)                \
	XC(Ialltoallw, 10) X(Ibarrier, 2) XC(Ibcast, 6) XC(Iexscan, 7) XC(Igather, 9)           \
	XC(Igatherv, 10) XC(Ineighbor_allgather, 8) XC(Ineighbor_allgatherv, 9)                 \
	XC(Ineighbor_alltoall, 8) XC(Ineighbor_alltoallv, 10)                                   \
	XC(Ineighbor_alltoallw, 10) XC(Ireduce, 8) XC(Ireduce_scatter, 7)                       \
	XC(Ireduce_scatter_block, 7) XC(Iscan, 7) XC(Iscatter, 9) XC(Iscatterv, 10)             \
	XC(Neighbor_allgather, 7) XC(Neighbor_allgather_init, 9)                                \
	XC(Neighbor_allgatherv, 8) XC(Neighbor_allgatherv_init, 10)                             \
	XC(Neighbor_alltoall, 7) XC(Neighbor_alltoall_init, 9)                                  \
	XC(Neighbor_alltoallv, 9) XC(Neighbor_alltoallv_init, 11)                               \
	XC(Neighbor_alltoallw, 9) XC(Neighbor_alltoallw_init, 11) XC(Reduce, 7)                 \
	XC(Reduce_init, 9) XC(Reduce_scatter, 6) XC(Reduce_scatter_block, 6)                    \
	XC(Reduce_scatter_block_init, 8) XC(Reduce_scatter_init, 8) XC(Scan, 6)                 \
	XC(Scan_init, 8) XC(Scatter, 8) XC(Scatter_init, 10) XC(Scatterv, 9)                    \
	XC(Scatterv_init, 11)
#define MPI_WAIT(X, XC)                                                                         \
	X(Cancel, 1) X(Improbe, 6) X(Iprobe, 5) X(Mprobe, 5) X(Parrived, 3)                     \
	X(Probe, 4) X(Request_get_status, 3)
#define MPI_ONE_SIDED(X, XC)                                                                    \
	XC(Accumulate, 9) X(Compare_and_swap, 7) X(Fetch_and_op, 7) XC(Get, 8)                  \
	XC(Get_accumulate, 12) XC(Put, 8) XC(Raccumulate, 10) XC(Rget, 9)                       \
	XC(Rget_accumulate, 13) XC(Rput, 9) XC(Win_allocate, 6)                                 \
	XC(Win_allocate_shared, 6) X(Win_attach, 3) X(Win_complete, 1)                          \
	XC(Win_create, 6) X(Win_create_dynamic, 3) X(Win_detach, 2) X(Win_fence, 2)             \
	X(Win_flush, 2) X(Win_flush_all, 1) X(Win_flush_local, 2)                               \
	X(Win_flush_local_all, 1) X(Win_free, 1) X(Win_lock, 4) X(Win_lock_all, 2)              \
	X(Win_post, 3) X(Win_start, 3) X(Win_sync, 1) X(Win_test, 2) X(Win_unlock, 2)           \
	X(Win_unlock_all, 1) X(Win_wait, 1)
#define MPI_START(X, XC)                                                                        \
	X(Cart_create, 6) X(Cart_map, 5) X(Cart_sub, 3) X(Comm_accept, 5)                       \
	X(Comm_connect, 5) X(Comm_create, 3) X(Comm_create_from_group, 5)                       \
	X(Comm_create_group, 4) X(Comm_disconnect, 1) X(Comm_dup, 2)                            \
	X(Comm_dup_with_info, 3) X(Comm_free, 1) X(Comm_get_parent, 1)                          \
	X(Comm_idup, 3) X(Comm_idup_with_info, 4) X(Comm_join, 2) X(Comm_spawn, 8)              \
	X(Comm_spawn_multiple, 9) X(Comm_split, 4) X(Comm_split_type, 5)                        \
	X(Dist_graph_create, 9) X(Dist_graph_create_adjacent, 10) X(Graph_create, 6)            \
	X(Graph_map, 5) X(Init, 2) X(Init_thread, 4) X(Intercomm_create, 6)                     \
	X(Intercomm_create_from_groups, 8) X(Intercomm_merge, 3)                                \
	X(Session_finalize, 1) X(Session_init, 3)
#define MPI_OTHER(X, XC)                                                                        \
	X(Alloc_mem, 3) XC(Buffer_attach, 2) XC(Buffer_detach, 2) X(Close_port, 1)              \
	X(Free_mem, 1) X(Group_difference, 3) X(Group_excl, 4) X(Group_free, 1)                 \
	X(Group_from_session_pset, 3) X(Group_incl, 4) X(Group_intersection, 3)                 \
	X(Group_range_excl, 4) X(Group_range_incl, 4) X(Group_union, 3)                         \
	X(Lookup_name, 3) XC(Op_create, 3) X(Op_free, 1) X(Open_port, 2) XC(Pack, 7)            \
	XC(Pack_external, 7) X(Publish_name, 3) XC(Reduce_local, 5) X(Type_commit, 1)           \
	XC(Type_contiguous, 3) XC(Type_create_darray, 10) XC(Type_create_hindexed, 5)           \
	XC(Type_create_hindexed_block, 5) XC(Type_create_hvector, 5)                            \
	XC(Type_create_indexed_block, 5) XC(Type_create_resized, 4)                             \
	XC(Type_create_struct, 5) XC(Type_create_subarray, 7) X(Type_dup, 2)                    \
	X(Type_hindexed, 5) X(Type_hvector, 5) XC(Type_indexed, 5) X(Type_struct, 5)            \
	XC(Type_vector, 5) XC(Unpack, 7) XC(Unpack_external, 7) X(Unpublish_name, 3)
/* clang-format on */

/* Two looks at the clock and an event without arguments. */
#define BODY(n, class_)                                                                            \
	struct io_span span;                                                                       \
	if (!mpi_begin(&span))                                                                     \
		return next(MPI_N##n);                                                             \
	int rc = next(MPI_N##n);                                                                   \
	mpi_end(&span, class_);                                                                    \
	return rc;

#define TIMED_ONE(symbol, n, class_)                                                               \
	static struct mpi_next next_##symbol = { .name = #symbol };                                \
	IO_PUBLIC int ours_##symbol(MPI_P##n) __asm__(#symbol);                                    \
	int ours_##symbol(MPI_P##n)                                                                \
	{                                                                                          \
		int (*next)(MPI_P##n) = (int (*)(MPI_P##n))mpi_next(&next_##symbol);               \
		BODY(n, class_)                                                                    \
	}
#define TIMED(name, n, class_)                                                                     \
	TIMED_ONE(MPI_##name, n, class_)                                                           \
	TIMED_ONE(PMPI_##name, n, class_)
#define TIMED_C(name, n, class_)                                                                   \
	TIMED(name, n, class_)                                                                     \
	TIMED(name##_c, n, class_)

#define P2P(name, n) TIMED(name, n, IO_MPI_POINT_TO_POINT)
#define P2P_C(name, n) TIMED_C(name, n, IO_MPI_POINT_TO_POINT)
MPI_POINT_TO_POINT(P2P, P2P_C)
#define COLLECTIVE(name, n) TIMED(name, n, IO_MPI_COLLECTIVE)
#define COLLECTIVE_C(name, n) TIMED_C(name, n, IO_MPI_COLLECTIVE)
MPI_COLLECTIVE(COLLECTIVE, COLLECTIVE_C)
#define WAITS(name, n) TIMED(name, n, IO_MPI_WAIT)
MPI_WAIT(WAITS, WAITS)
#define ONE_SIDED(name, n) TIMED(name, n, IO_MPI_ONE_SIDED)
#define ONE_SIDED_C(name, n) TIMED_C(name, n, IO_MPI_ONE_SIDED)
MPI_ONE_SIDED(ONE_SIDED, ONE_SIDED_C)
#define STARTS(name, n) TIMED(name, n, IO_MPI_START)
MPI_START(STARTS, STARTS)
#define OTHER(name, n) TIMED(name, n, IO_MPI_OTHER)
#define OTHER_C(name, n) TIMED_C(name, n, IO_MPI_OTHER)
MPI_OTHER(OTHER, OTHER_C)

/* Its handle may be given to another soon. */
static int type_free(int (*next)(MPI_P1), mpi_word type)
{
	struct io_span c;
	if (!mpi_begin(&c))
		return next(type);
	if (type && mpi_facts())
		mpi_type_forget(mpi_handle_at(type, 0));
	int rc = next(type);
	mpi_end(&c, IO_MPI_OTHER);
	return rc;
}
MPI_BOTH(Type_free, 1, type_free(next, a))

/* What is under way will not be heard of any more. */
static int finalize(int (*next)(void))
{
	struct io_span c;
	if (!mpi_begin(&c))
		return next();
	mpi_requests_lost();
	int rc = next();
	mpi_end(&c, IO_MPI_START);
	return rc;
}
MPI_BOTH(Finalize, 0, finalize(next))

/* It may end the process by means that nobody sees, so what there is is written before. */
static int abort_all(int (*next)(MPI_P2), mpi_word comm, mpi_word code)
{
	struct io_span c;
	if (!mpi_begin(&c))
		return next(comm, code);
	mpi_requests_lost();
	mpi_end(&c, IO_MPI_START);
	live_finish();
	return next(comm, code);
}
MPI_BOTH(Abort, 2, abort_all(next, a, b))
