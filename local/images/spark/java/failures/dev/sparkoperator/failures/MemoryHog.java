package dev.sparkoperator.failures;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * Takes memory outside the heap until the kernel kills the process for its container's limit: {@code MemoryHog [MiB]} stops at that size and
 * then waits; without an argument it never stops. Neither the heap's limit nor that of direct buffers holds it back.
 */
public final class MemoryHog {
  private MemoryHog() {}

  public static void main(String[] args) throws Exception {
    long limit = args.length > 0 ? Long.parseLong(args[0]) : Long.MAX_VALUE;
    Field field = Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    Unsafe unsafe = (Unsafe) field.get(null);
    for (long taken = 0; taken < limit; taken++) {
      long block = unsafe.allocateMemory(1 << 20);
      unsafe.setMemory(block, 1 << 20, (byte) 1); // Memory counts only once it is written.
      if (taken % 64 == 0) {
        System.out.println("took " + taken + " MiB");
      }
    }
    Thread.sleep(Long.MAX_VALUE);
  }
}
