// What Spring Data Redis takes for "no such row": its RedisCache compares what GET returns with the serialised form of Spring's
// NullValue, byte by byte (BINARY_NULL_VALUE), before it deserialises anything. The class is Spring's own, from Debian's
// libspring-context-java; Spring Data Redis itself is not in Debian.
//
//   java -cp spring-context.jar NullValueBytes.java HEX
//
// HEX is what the guard has said. Prints one line: equal=1 reads_as_null_value=1
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Arrays;
import java.util.HexFormat;
import org.springframework.cache.support.NullValue;

public class NullValueBytes {
    public static void main(String[] arguments) throws Exception {
        byte[] reply = HexFormat.of().parseHex(arguments[0]);
        ByteArrayOutputStream expected = new ByteArrayOutputStream();
        try (ObjectOutputStream stream = new ObjectOutputStream(expected)) {
            stream.writeObject(NullValue.INSTANCE);
        }
        Object read = new ObjectInputStream(new ByteArrayInputStream(reply)).readObject();
        System.out.printf("equal=%d reads_as_null_value=%d%n",
            Arrays.equals(reply, expected.toByteArray()) ? 1 : 0, read == NullValue.INSTANCE ? 1 : 0);
    }
}
