package dev.example.greeting;

/** What the package of the proof's repository holds. */
public final class Greeting {
  private Greeting() {}

  public static String to(String name) {
    return "hello " + name;
  }
}
