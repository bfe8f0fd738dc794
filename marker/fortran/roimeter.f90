! The marks for Fortran: see docs/markers.md. Off, each is a call, a load and a branch.
! SPDX-License-Identifier: Apache-2.0
module roimeter
   use, intrinsic :: iso_c_binding, only: c_char, c_size_t
   implicit none
   private

   public :: roimeter_begin, roimeter_end, roimeter_begin_sync, roimeter_end_sync
   public :: roimeter_exclude_begin, roimeter_exclude_end
   public :: roimeter_exclude_begin_sync, roimeter_exclude_end_sync
   public :: roimeter_step, roimeter_phase_begin, roimeter_phase_end

   interface
      subroutine roimeter_begin() bind(c, name='roimeter_f_begin')
      end subroutine roimeter_begin

      subroutine roimeter_end() bind(c, name='roimeter_f_end')
      end subroutine roimeter_end

      subroutine roimeter_begin_sync() bind(c, name='roimeter_f_begin_sync')
      end subroutine roimeter_begin_sync

      subroutine roimeter_end_sync() bind(c, name='roimeter_f_end_sync')
      end subroutine roimeter_end_sync

      subroutine roimeter_exclude_begin() bind(c, name='roimeter_f_exclude_begin')
      end subroutine roimeter_exclude_begin

      subroutine roimeter_exclude_end() bind(c, name='roimeter_f_exclude_end')
      end subroutine roimeter_exclude_end

      subroutine roimeter_exclude_begin_sync() bind(c, name='roimeter_f_exclude_begin_sync')
      end subroutine roimeter_exclude_begin_sync

      subroutine roimeter_exclude_end_sync() bind(c, name='roimeter_f_exclude_end_sync')
      end subroutine roimeter_exclude_end_sync

      subroutine roimeter_step() bind(c, name='roimeter_f_step')
      end subroutine roimeter_step

      subroutine roimeter_phase_end() bind(c, name='roimeter_f_phase_end')
      end subroutine roimeter_phase_end

      subroutine phase_begin_c(name, length) bind(c, name='roimeter_f_phase_begin')
         import :: c_char, c_size_t
         character(kind=c_char), intent(in) :: name(*)
         integer(c_size_t), value :: length
      end subroutine phase_begin_c
   end interface

contains

   subroutine roimeter_phase_begin(name)
      character(len=*), intent(in) :: name
      call phase_begin_c(name, len_trim(name, kind=c_size_t))
   end subroutine roimeter_phase_begin
end module roimeter
