package dev.sparkoperator.failures;

import java.util.ArrayList;
import java.util.List;

/** Fills the Java heap until the JVM throws OutOfMemoryError. */
public final class HeapExhausted {
  private HeapExhausted() {}

  public static void main(String[] args) {
    List<byte[]> kept = new ArrayList<>();
    while (true) {
      kept.add(new byte[1 << 20]);
    }
  }
}
