// Makes the files that guava_test.cpp reads, with Debian's libguava-java 31.1:
//
//   P=/usr/share/java; java -cp $P/guava.jar:$P/failureaccess.jar tests/foreign/GuavaFiles.java
import com.google.common.hash.*;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class GuavaFiles {
  @SuppressWarnings({"unchecked", "rawtypes"})
  static void print(Funnel funnel, int strategy, List items, List others) throws Exception {
    String name = "com.google.common.hash.BloomFilter";
    // The public create() makes the newer strategy alone.
    var create = BloomFilter.class.getDeclaredMethod(
        "create", Funnel.class, long.class, double.class, Class.forName(name + "$Strategy"));
    create.setAccessible(true);
    var strategies = Class.forName(name + "Strategies").getEnumConstants();
    var filter = (BloomFilter) create.invoke(null, funnel, 100L, 0.01, strategies[strategy]);
    items.forEach(filter::put);
    var file = new ByteArrayOutputStream();
    filter.writeTo(file);
    System.out.println(HexFormat.of().formatHex(file.toByteArray()));
    others.removeIf(other -> !filter.mightContain(other));
    System.out.println("  false positives: " + others);
  }

  public static void main(String[] arguments) throws Exception {
    for (int strategy = 0; strategy < 2; ++strategy) {
      List<String> texts = new ArrayList<>();
      List<Long> numbers = new ArrayList<>();
      for (long i = 0; i < 1000; ++i) {
        texts.add("user:" + i);
        numbers.add(i * 1000003 - 50);
      }
      print(Funnels.stringFunnel(StandardCharsets.UTF_8), strategy, texts.subList(0, 100),
          new ArrayList<>(texts.subList(100, 1000)));
      print(Funnels.longFunnel(), strategy, numbers.subList(0, 100),
          new ArrayList<>(numbers.subList(100, 1000)));
    }
  }
}
