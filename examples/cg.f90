! Conjugate gradients on the Laplacian of a cube, a sparse matrix in compressed rows.
!
!   cg [CELLS [ITERATIONS]]        cells per side, iterations at most
!
! Solves A x = b, where b was made from a known x, until the residual is 1e-8 of b; fails when the
! iterations do not suffice. The matrix-vector products are the phase "spmv", scalar products and
! vector updates are "dot".
module sparse
   use, intrinsic :: iso_fortran_env, only: real64
   use roimeter
   implicit none

   type :: matrix
      ! Row i has the entries first(i) .. first(i + 1) - 1.
      integer, allocatable :: first(:), column(:)
      real(real64), allocatable :: entry(:)
   end type matrix

contains

   ! Seven points: 6 in the middle, -1 to each neighbour; beyond the faces all is 0.
   function laplacian(cells) result(a)
      integer, intent(in) :: cells
      type(matrix) :: a
      integer :: x, y, z, row, used

      allocate (a%first(cells**3 + 1), a%column(7 * cells**3), a%entry(7 * cells**3))
      used = 0
      row = 0
      do z = 1, cells
         do y = 1, cells
            do x = 1, cells
               row = row + 1
               a%first(row) = used + 1
               if (z > 1) call put(row - cells**2, -1.0_real64)
               if (y > 1) call put(row - cells, -1.0_real64)
               if (x > 1) call put(row - 1, -1.0_real64)
               call put(row, 6.0_real64)
               if (x < cells) call put(row + 1, -1.0_real64)
               if (y < cells) call put(row + cells, -1.0_real64)
               if (z < cells) call put(row + cells**2, -1.0_real64)
            end do
         end do
      end do
      a%first(row + 1) = used + 1

   contains

      subroutine put(column, entry)
         integer, intent(in) :: column
         real(real64), intent(in) :: entry
         used = used + 1
         a%column(used) = column
         a%entry(used) = entry
      end subroutine put
   end function laplacian

   subroutine multiply(a, x, y)
      type(matrix), intent(in) :: a
      real(real64), intent(in) :: x(:)
      real(real64), intent(out) :: y(:)
      integer :: row, i
      real(real64) :: total

      do row = 1, size(y)
         total = 0
         do i = a%first(row), a%first(row + 1) - 1
            total = total + a%entry(i) * x(a%column(i))
         end do
         y(row) = total
      end do
   end subroutine multiply

   ! x: the start; afterwards the solution.
   subroutine solve(a, b, x, limit, most, iterations)
      type(matrix), intent(in) :: a
      real(real64), intent(in) :: b(:), limit
      real(real64), intent(inout) :: x(:)
      integer, intent(in) :: most
      integer, intent(out) :: iterations
      real(real64), allocatable :: r(:), p(:), ap(:)
      real(real64) :: rr, rr_before, alpha, goal

      allocate (r(size(b)), p(size(b)), ap(size(b)))
      call multiply(a, x, ap)
      r = b - ap
      p = r
      rr = dot_product(r, r)
      goal = limit**2 * dot_product(b, b)
      do iterations = 0, most - 1
         if (rr <= goal) exit
         call roimeter_phase_begin('spmv')
         call multiply(a, p, ap)
         call roimeter_phase_end()

         call roimeter_phase_begin('dot')
         alpha = rr / dot_product(p, ap)
         x = x + alpha * p
         r = r - alpha * ap
         rr_before = rr
         rr = dot_product(r, r)
         p = r + rr / rr_before * p
         call roimeter_phase_end()
         call roimeter_step()
      end do
   end subroutine solve
end module sparse

program cg
   use, intrinsic :: iso_fortran_env, only: real64, int64, error_unit
   use roimeter
   use sparse
   implicit none

   real(real64), parameter :: limit = 1e-8_real64
   type(matrix) :: a
   real(real64), allocatable :: x(:), b(:), known(:), product(:)
   real(real64) :: region_s, residual, error
   integer :: cells, most, iterations, i
   integer(int64) :: start, finish, rate, flops
   logical :: good

   cells = argument(1, 48)
   most = argument(2, 1000)
   if (cells < 2 .or. cells > 600 .or. most < 1) then
      write (error_unit, '(a)') 'usage: cg [CELLS [ITERATIONS]], 2 to 600 cells'
      stop 2
   end if
   a = laplacian(cells)
   allocate (x(cells**3), b(cells**3), product(cells**3))
   known = [(1 + 0.5_real64 * sin(0.1_real64 * i), i = 1, cells**3)]
   call multiply(a, known, b)
   x = 0
   print '(a,i0,a,i0,a)', 'cg: ', size(b), ' rows, ', a%first(size(b) + 1) - 1, ' entries'

   call system_clock(start, rate) ! the first look at a clock is slow: its code must be brought in
   call roimeter_begin()
   call system_clock(start)
   call solve(a, b, x, limit, most, iterations)
   call system_clock(finish)
   call roimeter_end()

   region_s = real(finish - start, real64) / real(rate, real64)
   call multiply(a, x, product)
   residual = norm2(b - product) / norm2(b)
   error = maxval(abs(x - known))
   good = residual <= 2 * limit .and. error < 1e-5_real64
   print '(5a)', 'check: residual ', number(residual), ', error ', number(error), &
      trim(merge(': good ', ': WRONG', good))
   ! A multiplication and an addition for each entry, and ten operations for each row.
   flops = iterations * (2_int64 * (a%first(size(b) + 1) - 1) + 10_int64 * size(b))
   print '(a,i0)', 'iterations: ', iterations
   print '(3a)', 'rate: ', fixed(real(flops, real64) / region_s / 1e9_real64, 6), ' GFLOP/s'
   print '(3a)', 'region time: ', fixed(region_s, 9), ' s'
   if (.not. good) stop 1

contains

   integer function argument(position, otherwise)
      integer, intent(in) :: position, otherwise
      character(len=32) :: text
      integer :: status

      argument = otherwise
      if (command_argument_count() < position) return
      call get_command_argument(position, text)
      read (text, *, iostat=status) argument
      if (status /= 0) argument = -1
   end function argument

   ! 0.123 and not .123, which is what the format f0.3 makes of it.
   function fixed(value, digits) result(text)
      real(real64), intent(in) :: value
      integer, intent(in) :: digits
      character(len=:), allocatable :: text
      character(len=40) :: wide, form

      write (form, '(a,i0,a)') '(f40.', digits, ')'
      write (wide, form) value
      text = trim(adjustl(wide))
   end function fixed

   function number(value) result(text)
      real(real64), intent(in) :: value
      character(len=:), allocatable :: text
      character(len=16) :: wide

      write (wide, '(es16.2)') value
      text = trim(adjustl(wide))
   end function number
end program cg
